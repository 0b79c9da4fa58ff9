/** Suggestions at the cursor: fields, keys of maps and values of the kubelets that the config is for. Pure. */
import { entryOf, fieldImpact } from '../../../config/catalogue.js';
import { choicesOf, mapKeysOf } from '../../../config/choices.js';
import { defaultOf, fieldAt } from '../../../config/fields.js';
import type { Minor } from '../../../config/model.js';
import { type Shape, shapeOf } from '../../../config/shape.js';
import { type YamlPlace, yamlPlaceAt } from './yaml-place.js';

export interface Suggestion {
  label: string;
  /** In place of the typed word. */
  insert: string;
  /** Type and default, or since when it exists. */
  detail: string;
  /** A sentence about it. */
  info?: string;
}

export interface Completion {
  from: number;
  suggestions: Suggestion[];
}

/** `minors`: of the selected nodes. What only some of them have is suggested, and says so. */
export function completeField(text: string, position: number, minors: readonly Minor[]): Completion | undefined {
  const place = yamlPlaceAt(text, position);
  if (place === undefined) return undefined;
  const path = fieldPath(place.path);
  const found = new Map<string, { suggestion: Suggestion; minors: Minor[] }>();
  for (const minor of minors) {
    const shape = shapeIn(place.path, minor);
    for (const suggestion of shape === undefined ? [] : suggestionsIn(shape, path, place, minor)) {
      const known = found.get(suggestion.label);
      if (known === undefined) found.set(suggestion.label, { suggestion, minors: [minor] });
      else known.minors.push(minor);
    }
  }
  const suggestions = [...found.values()]
    .filter(({ suggestion }) => !place.siblings.includes(suggestion.label))
    .map(({ suggestion, minors: having }) => withMinors(suggestion, having, minors));
  return suggestions.length === 0 ? undefined : { from: place.from, suggestions };
}

/** As in a Field: `registerWithTaints[].effect`. */
const fieldPath = (path: readonly string[]): string => path.join('.').replaceAll('.[]', '[]');

function shapeIn(path: readonly string[], minor: Minor): Shape | undefined {
  let shape: Shape | undefined = shapeOf(minor);
  for (const part of path) {
    if (shape?.kind === 'struct') shape = shape.fields.get(part);
    else if (shape?.kind === 'list') shape = part === '[]' ? shape.item : undefined;
    else shape = shape?.kind === 'map' ? shape.value : undefined;
  }
  return shape;
}

function suggestionsIn(shape: Shape, path: string, { typing }: YamlPlace, minor: Minor): Suggestion[] {
  if (shape.kind === 'struct' && typing === 'key')
    return [...shape.fields].map(([name, child]) => fieldSuggestion(name, child, path, minor));
  if (shape.kind === 'map' && typing === 'key')
    return mapKeysOf(path, minor).map((key) => ({ label: key, insert: `${key}: `, detail: 'key' }));
  // An item of a list is typed where a key would be.
  if (shape.kind === 'scalar' && (typing === 'value' || path.endsWith('[]')))
    return valuesOf(shape, path, minor).map((value) => ({ label: value, insert: value, detail: '' }));
  return [];
}

function fieldSuggestion(name: string, shape: Shape, parent: string, minor: Minor): Suggestion {
  const path = parent === '' ? name : `${parent}.${name}`;
  const field = fieldAt(path);
  const what = entryOf(path)?.what;
  const impact = fieldImpact(path, minor);
  const needs = impact === undefined || impact.needs === 'none' ? '' : ` A change needs: ${impact.needs}.`;
  const fallback = field === undefined ? undefined : defaultText(defaultOf(field, minor));
  return {
    label: name,
    insert: shape.kind === 'scalar' ? `${name}: ` : `${name}:\n`,
    detail: [typeText(shape), ...(fallback === undefined ? [] : [`default ${fallback}`])].join(', '),
    ...(what !== undefined && { info: `${what}${needs}` }),
  };
}

function typeText(shape: Shape): string {
  if (shape.kind === 'scalar') return shape.type === 'duration-or-int' ? 'duration' : shape.type;
  return shape.kind === 'struct' ? 'fields' : shape.kind;
}

function defaultText(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '')
    ? String(value)
    : undefined;
}

function valuesOf(shape: Shape & { kind: 'scalar' }, path: string, minor: Minor): string[] {
  if (shape.type === 'bool') return ['true', 'false'];
  const choices = choicesOf(path, minor);
  if (choices !== undefined) return choices;
  const field = fieldAt(path);
  const fallback = field === undefined ? undefined : defaultText(defaultOf(field, minor));
  return fallback === undefined ? [] : [fallback];
}

/** `1.30 and later only` where the older of the selected kubelets do not have it. */
function withMinors(suggestion: Suggestion, having: readonly Minor[], all: readonly Minor[]): Suggestion {
  if (having.length === all.length) return suggestion;
  const only = `only kubelets ${having.map((minor) => `1.${minor}`).join(', ')}`;
  return { ...suggestion, detail: suggestion.detail === '' ? only : `${suggestion.detail}; ${only}` };
}
