/** `relet config explain`: what a field is, and what changing it on a live node needs. */

import { CannotRun } from '../../cannot-run.js';
import {
  type Case,
  classesOf,
  entryOf,
  fieldImpact,
  type Needs,
  needsMeaning,
  signalSources,
  themes,
  watchOf,
} from '../../config/catalogue.js';
import { defaultOf, existsIn, type Field, fieldAt, fields } from '../../config/fields.js';
import { bugsOf, bugText } from '../../config/known-bugs.js';
import { type Minor, newestMinor } from '../../config/model.js';
import { nearest } from '../../config/suggest.js';
import type { KubeletVersion } from '../command-line.js';
import { paintNeeds } from '../terminal/change-text.js';
import { openTerminal, type Paint, type Terminal, wrap } from '../terminal/terminal.js';

export function explain(wanted: string | undefined, { kubeletVersion }: { kubeletVersion: KubeletVersion }): void {
  const terminal = openTerminal();
  terminal.print(answer(wanted, kubeletVersion.minor, terminal));
}

function answer(wanted: string | undefined, minor: Minor, terminal: Terminal): string {
  if (wanted === undefined) return overview(minor, terminal);
  const exact = find(wanted);
  if (exact !== undefined) return page(exact, minor, terminal);
  const found = search(wanted);
  if (found.length === 0) throw new CannotRun(`there is no field like '${wanted}'${guess(wanted)}`);
  return `${matches(found, wanted, terminal)}\n\n'relet config explain FIELD' describes one of them.`;
}

function guess(wanted: string): string {
  const last = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const word = nearest(
    last(wanted),
    fields.map(({ path }) => last(path)),
  );
  return word === undefined ? "; 'relet config explain' lists all" : `; did you mean '${word}'?`;
}

/** By path, whatever its case; or by its last part, where only one field has that. */
function find(wanted: string): Field | undefined {
  const lower = wanted.replace(/^KubeletConfiguration\./i, '').toLowerCase();
  const sameEnd = fields.filter(({ path }) => path.toLowerCase().endsWith(`.${lower}`));
  return (
    fieldAt(wanted) ??
    fields.find(({ path }) => path.toLowerCase() === lower) ??
    fields.find(({ flag }) => flag === wanted.replace(/^--/, '')) ??
    (sameEnd.length === 1 ? sameEnd[0] : undefined) ??
    mapWith(lower)
  );
}

/** `evictionHard.memory.available`, as `relet set` takes it, is a key of the map evictionHard. */
const mapWith = (lower: string): Field | undefined =>
  fields.find(({ path, goType }) => goType.startsWith('map[') && lower.startsWith(`${path.toLowerCase()}.`));

/** Fields whose path, flag or description holds every word. */
function search(wanted: string): Field[] {
  const words = wanted
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  const text = (field: Field) => `${field.path} ${field.flag ?? ''} ${entryOf(field.path)?.what}`.toLowerCase();
  const byName = fields.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)));
  return byName.length > 0 ? byName : fields.filter((field) => words.every((word) => text(field).includes(word)));
}

function matches(found: Field[], wanted: string, { columns, paint }: Terminal): string {
  const heading = `${found.length === 1 ? 'One field' : `${found.length} fields`} for '${wanted}':\n`;
  return [
    heading,
    ...found.map(({ path }) => `${paint.bold(path)}\n${wrap(entryOf(path)!.what, columns, '    ')}`),
  ].join('\n');
}

function overview(minor: Minor, { paint }: Terminal): string {
  const blocks = themes.map(([title, entries]) => {
    const lines = Object.keys(entries)
      .filter((path) => existsIn(fieldAt(path)!, minor))
      .map((path) => `  ${path.padEnd(50)} ${classesText(path, minor, paint)}`);
    return `${paint.bold(title)}\n${lines.join('\n')}`;
  });
  return `Fields of kubelet 1.${minor}, and what changing them on a live node needs.\n\n${blocks.join('\n\n')}`;
}

function page(field: Field, minor: Minor, { columns, paint }: Terminal): string {
  const entry = entryOf(field.path)!;
  const { needs, why, risk } = fieldImpact(field.path, minor)!;
  const facts: [string, string][] = [
    ['FIELD', `${paint.bold(field.path)} <${typeName(field)}>`],
    ['DEFAULT', existsIn(field, minor) ? defaultText(field, minor) : `not in 1.${minor}`],
    ['VERSIONS', versions(field)],
    ...(field.flag === undefined ? [] : [['FLAG', `--${field.flag}`] as [string, string]]),
  ];
  const children = fields.filter(
    ({ path }) => path.startsWith(`${field.path}.`) || path.startsWith(`${field.path}[].`),
  );
  return [
    ...facts.map(([name, value]) => `${name.padEnd(10)}${value}`),
    '',
    wrap(entry.what, columns),
    '',
    `${'CHANGING IT NEEDS'.padEnd(18)} ${paintNeeds(needs, paint)}`,
    wrap(needsMeaning[needs], columns, '    '),
    'WHY',
    wrap(why, columns, '    '),
    'WHAT CAN GO WRONG',
    wrap(risk, columns, '    '),
    ...(entry.atBoot === undefined ? [] : ['WHAT A TRIAL CANNOT FIND OUT', wrap(entry.atBoot, columns, '    ')]),
    ...watchText(field.path, columns),
    ...bugsText(field.path, columns),
    ...casesText(entry.cases ?? [], needs, columns, paint),
    ...(children.length === 0 ? [] : ['FIELDS', ...children.map(({ path }) => `    ${path}`)]),
  ].join('\n');
}

function watchText(path: string, columns: number): string[] {
  const { seen, signals, metrics } = watchOf(path)!;
  return [
    'WHEN YOU SEE IT',
    `    ${seen}`,
    ...(signals.length + metrics.length === 0 ? [] : ['WHAT TO WATCH']),
    ...signals.map((name) => wrap(`${name}: ${signalSources[name]}`, columns, '    ')),
    ...metrics.map((name) => wrap(`${name}: metric of the kubelet`, columns, '    ')),
  ];
}

function bugsText(path: string, columns: number): string[] {
  const bugs = bugsOf(path).map((bug) =>
    wrap(`${bug.path === path ? '' : `${bug.path}: `}${bugText(bug)}`, columns, '    '),
  );
  return bugs.length === 0 ? [] : ['KNOWN BUGS OF KUBELETS', ...bugs];
}

const classesText = (path: string, minor: Minor, paint: Paint): string =>
  classesOf(path, minor)
    .map((needs) => paintNeeds(needs, paint))
    .join(', ');

/** The first that applies holds; `general` is the class of those that have none of their own. */
function casesText(cases: readonly Case[], general: Needs, columns: number, paint: Paint): string[] {
  if (cases.length === 0) return [];
  const lines = cases.flatMap(({ when, needs = general, why, risk }) => [
    wrap(`${when}: ${paintNeeds(needs, paint)}`, columns, '    '),
    ...[why, risk].flatMap((text) => (text ? [wrap(text, columns, '        ')] : [])),
  ]);
  return ['DEPENDING ON THE CHANGE, THE FIRST THAT APPLIES', ...lines];
}

const typeName = ({ goType }: Field): string => (goType === '{}' ? 'object' : goType);

function versions({ first, last }: Field): string {
  return last === newestMinor ? `since 1.${first}` : `1.${first} to 1.${last}`;
}

function defaultText(field: Field, minor: Minor): string {
  if (field.goType === '{}') return 'see the fields in it';
  const value = defaultOf(field, minor);
  const text = value === null ? 'none' : typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
  return field.computedDefault === undefined ? text : `${text} (${field.computedDefault})`;
}
