/** What may follow in a word of `relet set`: a field, a key of a map, or one of the values that the field takes. Pure. */
import { choicesOf, mapKeysOf } from '../../config/choices.js';
import { type Field, fieldsOf } from '../../config/fields.js';
import type { Minor } from '../../config/model.js';
import type { Suggestion } from './complete-words.js';

export function settingsFor(typed: string, minor: Minor): Suggestion[] {
  // An item of a list cannot be set by one word.
  const settable = fieldsOf(minor).filter(({ goType, path }) => goType !== '{}' && !path.includes('[]'));
  const equals = typed.indexOf('=');
  if (equals >= 0) {
    const name = typed.slice(0, equals);
    return settable.flatMap((field) => valuesOf(field, name, minor)).map((value) => ({ word: `${name}=${value}` }));
  }
  return settable.flatMap((field) => names(field, typed, minor));
}

/** A map is offered whole and by key; its keys only once they are asked for, there may be a hundred. */
function names({ path, goType }: Field, typed: string, minor: Minor): Suggestion[] {
  const keys = mapKeysOf(path, minor);
  if (typed.startsWith(`${path}.`))
    return keys.map((key) => ({ word: `${path}.${key}=`, what: goType.replace(/^map\[\w+\]/, '') }));
  const whole = { word: `${path}=`, what: goType };
  return keys.length === 0 ? [whole] : [{ word: `${path}.`, what: 'one key of it' }, whole];
}

function valuesOf({ path, goType }: Field, name: string, minor: Minor): readonly string[] {
  const isKey = goType.startsWith('map[') && name.startsWith(`${path}.`);
  if (!isKey && name !== path) return [];
  if (goType === 'bool' || (isKey && goType.endsWith(']bool'))) return ['true', 'false'];
  return choicesOf(goType.startsWith('[]') ? `${path}[]` : path, minor) ?? [];
}
