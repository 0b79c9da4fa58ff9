/** The environment of every expression: the functions and types of the library, within limits of size. */
import { Environment } from '@marcbachmann/cel-js';

/** Limits on depth and length of an expression, far beyond real ones. */
const limits = { maxAstNodes: 10_000, maxDepth: 100, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 };

let base: Environment | undefined;

/** A copy to add variables to. The base is built for the first rule: most servers have none. */
export function newEnvironment(): Environment {
  base ??= new Environment({ enableOptionalTypes: true, limits });
  return base.clone();
}
