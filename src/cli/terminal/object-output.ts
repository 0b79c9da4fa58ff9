/** `-o json|yaml|name|jsonpath=…|custom-columns=…`: objects written as kubectl writes them. */
import { CannotRun } from '../../cannot-run.js';
import { findAll, JsonPathError, parsePath, parseTemplate, printTemplate, valueText } from '../../go/json-path.js';
import { asYaml } from '../../go/yaml/write.js';
import { oneLine } from '../../visible-text.js';
import { tableLines } from './table.js';

export type ObjectFormat =
  | { kind: 'json' | 'yaml' | 'name' }
  | { kind: 'jsonpath'; template: string }
  | { kind: 'custom-columns'; columns: { title: string; path: string }[] };

/** Undefined: a table, plain or wide. */
export function parseFormat(output: string | undefined): ObjectFormat | undefined {
  if (output === undefined || output === '' || output === 'wide') return undefined;
  if (output === 'json' || output === 'yaml' || output === 'name') return { kind: output };
  const equals = output.indexOf('=');
  const [kind, rest] = equals < 0 ? [output, ''] : [output.slice(0, equals), output.slice(equals + 1)];
  if (kind === 'jsonpath' && rest !== '') return readable({ kind, template: rest });
  if (kind === 'custom-columns' && rest !== '') return readable({ kind, columns: rest.split(',').map(parseColumn) });
  throw new CannotRun(
    `-o ${output}: choose one of wide, json, yaml, name, jsonpath={.items[*].metadata.name}, custom-columns=NODE:.metadata.name`,
  );
}

function parseColumn(word: string): { title: string; path: string } {
  const colon = word.indexOf(':');
  if (colon < 1) throw new CannotRun(`-o custom-columns: '${word}' is not TITLE:PATH, as in NODE:.metadata.name`);
  return { title: word.slice(0, colon), path: word.slice(colon + 1) };
}

/** A path that cannot be read is reported before the server is asked. */
function readable(format: ObjectFormat): ObjectFormat {
  try {
    if (format.kind === 'jsonpath') parseTemplate(format.template);
    if (format.kind === 'custom-columns') for (const { path } of format.columns) parsePath(path);
    return format;
  } catch (error) {
    if (error instanceof JsonPathError) throw new CannotRun(`-o ${format.kind}: ${error.message}`);
    throw error;
  }
}

interface Named {
  metadata: { name: string };
}

export interface Shown<T> {
  /** What `-o name` puts before the name. */
  resource: string;
  objects: T[];
  /** One object was asked for by name: it is written by itself, without a list around it. */
  single: boolean;
}

export function writeObjects<T extends Named>(format: ObjectFormat, shown: Shown<T>): string {
  const { resource, objects, single } = shown;
  const whole = single && objects.length === 1 ? objects[0]! : { apiVersion: 'v1', kind: 'List', items: objects };
  switch (format.kind) {
    case 'json':
      return JSON.stringify(whole, null, 2);
    case 'yaml':
      return asYaml(whole);
    case 'name':
      return objects.map(({ metadata }) => `${resource}/${metadata.name}`).join('\n');
    case 'jsonpath':
      return printTemplate(parseTemplate(format.template), whole, (value) => oneLine(valueText(value)));
    case 'custom-columns':
      return tableLines(
        format.columns.map(({ title, path }) => ({
          title,
          cell: (object: T) => findAll(object, parsePath(path)).map(valueText).join(','),
        })),
        objects,
        undefined,
      ).join('\n');
  }
}

/** Orders by a JSONPath, numbers as numbers; what lacks it comes first, as with kubectl. */
export function sortByPath<T>(objects: T[], path: string): T[] {
  const key = (object: T): unknown => {
    try {
      return findAll(object, parsePath(path))[0];
    } catch (error) {
      if (error instanceof JsonPathError) throw new CannotRun(`--sort-by ${path}: ${error.message}`);
      throw error;
    }
  };
  const compare = (a: unknown, b: unknown): number => {
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
    return typeof a === 'number' && typeof b === 'number' ? a - b : valueText(a).localeCompare(valueText(b));
  };
  return objects
    .map((object) => ({ object, value: key(object) }))
    .sort((a, b) => compare(a.value, b.value))
    .map(({ object }) => object);
}
