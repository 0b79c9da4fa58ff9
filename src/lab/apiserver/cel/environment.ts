/** The functions and types that every expression in Kubernetes may use. */
import { Environment } from '@marcbachmann/cel-js';
import { declareAuthorizer } from './functions/authorizer.js';
import { declareComprehensions } from './functions/comprehensions.js';
import { declareFormats } from './functions/formats.js';
import { declareLists } from './functions/lists.js';
import { declareNetwork } from './functions/network.js';
import { declareQuantity } from './functions/quantity.js';
import { declareRegex } from './functions/regex.js';
import { declareSets } from './functions/sets.js';
import { declareStrings } from './functions/strings.js';
import { declareUrl } from './functions/url.js';
import { publicText } from './syntax-tree.js';

/** Limits on depth and length of an expression, far beyond real ones. */
const limits = { maxAstNodes: 10_000, maxDepth: 100, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 };

let base: Environment | undefined;
let names: ReadonlySet<string> | undefined;

/** A copy to add variables to. The base is built for the first rule: most servers have none. */
export function newEnvironment(): Environment {
  base ??= declareAll(new Environment({ enableOptionalTypes: true, limits }));
  return base.clone();
}

/** Whether there is any function or method of this name. */
export function isFunction(name: string): boolean {
  names ??= new Set(
    newEnvironment()
      .getDefinitions()
      .functions.map((declared) => publicText(declared.name)),
  );
  return names.has(name);
}

function declareAll(environment: Environment): Environment {
  for (const declare of [
    declareStrings,
    declareRegex,
    declareLists,
    declareSets,
    declareComprehensions,
    declareQuantity,
    declareUrl,
    declareNetwork,
    declareFormats,
    declareAuthorizer,
  ])
    declare(environment);
  return environment;
}
