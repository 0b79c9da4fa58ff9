/**
 * Documents for a kubelet, valid and invalid: fields of one minor with values that the recorded documents and the tables of rules use, of
 * their type, or of another; written as YAML in blocks or in flow, or as JSON, in odd spellings; recorded documents; and any of them
 * with a few characters or lines changed.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parse } from 'yaml';
import { check } from '../../src/config/check.js';
import { fieldsOf } from '../../src/config/fields.js';
import { gatesOf } from '../../src/config/gates.js';
import type { Minor } from '../../src/config/model.js';
import { isObject } from '../../src/json.js';
import { limitCases, newerOracleCases, oracleCases } from '../evidence/read.js';

const { constantFrom: one, array, tuple } = fc;

/** A value as it is written in the document. */
type Field = [path: string, value: string];

const payloads = [...oracleCases(), ...newerOracleCases(), ...limitCases()]
  .map(({ payload }) => payload)
  .filter((text) => text.length < 5000);

const tables = ['rules/rules', 'rules/stages', 'forecast/forecast'].flatMap((name) => {
  const table = readFileSync(`src/config/${name}.cases.txt`, 'utf8');
  return [...table.matchAll(/^\d+ (\{.*\})/gm)].map(([, text]) => text!);
});

const split = (text: string): string[] => text.split(/\s*¦\s*/);

/** Scalars that YAML 1.1, YAML 1.2, JSON and Go read in different ways. */
const odd = one(
  ...split(`~ ¦ null ¦ NULL ¦ "" ¦ '' ¦ yes ¦ Off ¦ y ¦ TRUE ¦ 0 ¦ -0 ¦ -1 ¦ +5 ¦ 010 ¦ 0o10 ¦ 0x1F ¦ 0b11 ¦ 1_000 ¦ 08 ¦ 1e3 ¦ 1E+2 ¦ .5 ¦ 5. ¦
    1.0 ¦ 1.5 ¦ -.inf ¦ .NaN ¦ +.inf ¦ 190:20:30 ¦ 2147483648 ¦ -2147483649 ¦ 9223372036854775808 ¦ 18446744073709551616 ¦ 1e400 ¦ 1e-400 ¦
    !!str 5 ¦ !!int "5" ¦ !!float 1 ¦ !!bool "yes" ¦ !!binary YQ== ¦ ! 5 ¦ !x 5 ¦ !!null "" ¦ !!merge << ¦ << ¦ = ¦ 2001-01-01 ¦
    2001-12-14t21:59:43.10-05:00 ¦ "\\x41" ¦ "\\u0000" ¦ "a\\\n  b" ¦ "\\ud800" ¦ "\ufeff" ¦ "\\/" ¦ 'it''s' ¦ "é" ¦ "\u2028" ¦ [] ¦ {} ¦ [~] ¦
    {a: b} ¦ {? a} ¦ [a: b] ¦ [1, 2 ¦ &a 1 ¦ *a ¦ &b [*b] ¦ - a ¦ a: b ¦ # ¦ @a ¦ %a ¦ \`a ¦ - ¦ ? ¦ : ¦ , ¦ a #b ¦ a#b ¦ "a" b ¦ 1.0e+3 ¦
    0.1e1 ¦ 1_ ¦ _1 ¦ 0x ¦ 0b2 ¦ 3 4 ¦ 3s ¦ "3s" ¦ 1h-1m ¦ 1.5h ¦ "1µs" ¦ 99999999h`),
  ...['|\n  a\n', '>-\n  a\n  b\n', '\t1', '1\t'],
);

/** By Go type. */
const simple: Record<string, string[]> = {
  bool: ['true', 'false'],
  Duration:
    split(`0s ¦ 10s ¦ 1m ¦ 1h30m ¦ -5s ¦ "1.5s" ¦ 100ms ¦ 0 ¦ "0" ¦ "" ¦ 1us ¦ 1µs ¦ .5s ¦ 2562047h47m16.854775807s ¦
    2562047h47m16.854775808s`),
  float64: split('0 ¦ 0.5 ¦ 1 ¦ -0.1 ¦ 1.1 ¦ 1e-7 ¦ 0.8999999999999999 ¦ 1e21'),
  int32: split('0 ¦ 1 ¦ -1 ¦ 2 ¦ 5 ¦ 84 ¦ 86 ¦ 100 ¦ 101 ¦ 65535 ¦ 65536 ¦ 2147483647 ¦ -1000 ¦ 1001 ¦ 15 ¦ 31 ¦ 32'),
  int64: split('0 ¦ 1 ¦ -1 ¦ 10 ¦ 9223372036854775807 ¦ 9007199254740993 ¦ -9223372036854775808 ¦ 1e18'),
  string:
    split(`a ¦ "" ¦ "0" ¦ /a ¦ a/b ¦ 10.0.0.1 ¦ "::1" ¦ 5% ¦ 1Gi ¦ "a b" ¦ none ¦ None ¦ 0-1 ¦ 1 ¦ true ¦ Static ¦ static ¦
    unix:///run/a.sock`),
  '[]string': split('[] ¦ [a] ¦ [a, b] ¦ [a, a] ¦ [""] ¦ [pods] ¦ [none, pods] ¦ [10.0.0.1] ¦ [~] ¦ [1] ¦ a'),
  'map[string]string':
    split(`{} ¦ {a: b} ¦ {memory: 1Gi} ¦ {cpu: 100m, pid: "5"} ¦ {memory.available: 5%} ¦ {nodefs.available: 100%} ¦ {a: 1} ¦
    {a: ~} ¦ {memory: 1.5Gi} ¦ {memory.available: "-1"} ¦ {cpu: 1e3} ¦ {memory: 0.0000000001}`),
  'map[string]bool': split('{AllAlpha: true} ¦ {AllBeta: false} ¦ {a: true} ¦ {AllAlpha: "true"}'),
};

/** By path: each value that a recorded document or a table of rules has there, as YAML on one line, which JSON is. */
function knownValues(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (path: string, value: unknown): void => {
    found.set(path, [...(found.get(path) ?? []), JSON.stringify(value) ?? '~']);
    if (isObject(value)) for (const [key, inner] of Object.entries(value)) add(`${path}.${key}`, inner);
  };
  for (const text of [...payloads, ...tables]) {
    try {
      const config: unknown = parse(text, { version: '1.1', logLevel: 'silent' });
      if (isObject(config)) for (const [key, value] of Object.entries(config)) add(key, value);
    } catch {
      // Not YAML for this library.
    }
  }
  return found;
}

/** `isValid`: with values that are accepted where nothing else is set. */
function anyField(minor: Minor, isValid: boolean): fc.Arbitrary<Field> {
  const known = knownValues();
  const results = new Map<string, boolean>();
  const isAccepted = (field: Field): boolean => {
    const text = write([...headers, field], 'flow');
    const known = results.get(text) ?? check(text, { minor, lenient: true }).message === '';
    results.set(text, known);
    return known;
  };
  const fields = fieldsOf(minor).filter(({ path }) => !path.includes('[]'));
  const arbitraries = fields.map(({ path, goType }) => {
    const values = [...new Set(known.get(path) ?? ['{}'])];
    const all = [...values, '~', ...(simple[goType] ?? [])].map((value): Field => [path, value]);
    if (isValid) return one(...all).map((field): Field => (isAccepted(field) ? field : ['maxPods', '5']));
    const text = fc.string({ unit: 'grapheme', maxLength: 4 }).map((value) => JSON.stringify(value));
    return fc
      .oneof(
        { weight: 8, arbitrary: one(...values) },
        { weight: 4, arbitrary: one(...(simple[goType] ?? values)) },
        { weight: 1, arbitrary: odd },
        { weight: 1, arbitrary: text },
      )
      .map((value): Field => [path, value]);
  });
  const gates = one(...gatesOf(minor), 'AllAlpha', 'AllBeta', 'Nonsense');
  const gate = tuple(gates, one('true', 'false')).map(([name, value]): Field => [`featureGates.${name}`, value]);
  const field = fc.oneof(...arbitraries);
  return isValid ? field : fc.oneof({ weight: 9, arbitrary: field }, { weight: 1, arbitrary: gate });
}

type Style = 'block' | 'flow' | 'json';

function asJson(value: string): string {
  try {
    JSON.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

/** Fields below the same parent are written under it once. */
function write(fields: readonly Field[], style: Style, indent = ''): string {
  const parents = new Map<string, Field[]>();
  const lines: string[] = [];
  for (const [path, value] of fields) {
    const [key, ...rest] = path.split('.') as [string, ...string[]];
    if (rest.length === 0)
      lines.push(style === 'json' ? `${JSON.stringify(key)}: ${asJson(value)}` : `${key}: ${value}`);
    else parents.set(key, [...(parents.get(key) ?? []), [rest.join('.'), value]]);
  }
  for (const [key, inner] of parents) {
    const text = write(inner, style, `${indent}  `);
    lines.push(`${style === 'json' ? JSON.stringify(key) : key}:${style === 'block' ? `\n${indent}  ` : ' '}${text}`);
  }
  if (style === 'block') return lines.join(`\n${indent}`);
  // A text that begins with a brace is read as JSON.
  return `${style === 'flow' && indent === '' ? '--- ' : ''}{${lines.join(', ')}}`;
}

const headers: Field[] = [
  ['apiVersion', '"kubelet.config.k8s.io/v1beta1"'],
  ['kind', '"KubeletConfiguration"'],
];

const written = (minor: Minor, isValid: boolean) =>
  tuple(
    array(anyField(minor, isValid), { minLength: 1, maxLength: isValid ? 9 : 3 }),
    one<Style>('block', 'block', 'flow', 'json'),
  ).map(([fields, style]) => write([...headers, ...fields], style));

/** Changes of a text by a character, a line or a piece at a time. */
type Edit = (text: string) => string;
const at = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const piece = one(
  ...split(
    `# ¦ " ¦ ' ¦ \\ ¦ , ¦ : ¦ { ¦ } ¦ [ ¦ ] ¦ & ¦ * ¦ ! ¦ | ¦ > ¦ % ¦ @ ¦ \` ¦ ~ ¦ *a ¦ x ¦ 0 ¦ _ ¦ . ¦ / ¦ é ¦ 😀`,
  ),
  ...[
    ' ',
    '  ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\ufeff',
    '\0',
    '\x85',
    '\u2028',
    ' #',
    ': ',
    '- ',
    '? ',
    '---\n',
    '...\n',
    '<<: ',
    '&a ',
  ],
  ...['!!str ', '!!int ', '\n---\nmaxPods: 1\n', '%YAML 1.2\n', '%YAML 1.1\n---\n'],
);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  tuple(at, piece).map(
    ([where, what]): Edit =>
      (text) => {
        const index = Math.floor(where * (text.length + 1));
        return text.slice(0, index) + what + text.slice(index);
      },
  ),
  tuple(at, fc.integer({ min: 1, max: 4 })).map(
    ([where, length]): Edit =>
      (text) => {
        const index = Math.floor(where * text.length);
        return text.slice(0, index) + text.slice(index + length);
      },
  ),
  tuple(at, at).map(
    ([from, to]): Edit =>
      (text) => {
        const lines = text.split('\n');
        lines.splice(Math.floor(to * lines.length), 0, lines[Math.floor(from * lines.length)]!);
        return lines.join('\n');
      },
  ),
  at.map(
    (where): Edit =>
      (text) =>
        text.replace(/^/gm, (_, index: number) => (index >= where * text.length ? ' ' : '')),
  ),
  at.map(
    (where): Edit =>
      (text) => {
        const index = Math.floor(where * text.length);
        const char = text[index] ?? '';
        return (
          text.slice(0, index) +
          (char === char.toUpperCase() ? char.toLowerCase() : char.toUpperCase()) +
          text.slice(index + 1)
        );
      },
  ),
);

/** The fields of one document behind those of another. */
const spliced = tuple(one(...payloads), one(...payloads)).map(
  ([first, second]) => `${first}\n${second.replace(/^(apiVersion|kind):.*\n/gm, '')}`,
);

const edits = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Edit[]>([]) },
  { weight: 1, arbitrary: array(edit, { minLength: 1, maxLength: 3 }) },
);

/** Half of a surrogate pair cannot be written to a file. */
const withEdits = (texts: fc.Arbitrary<string>, few: fc.Arbitrary<Edit[]> = edits): fc.Arbitrary<string> =>
  tuple(texts, few).map(([text, all]) =>
    all.reduce((result, change) => change(result), text).replace(/\p{Surrogate}/gu, '\ufffd'),
  );

/** One of these texts, mostly with a few changes. */
export const edited = (...texts: string[]): fc.Arbitrary<string> =>
  withEdits(one(...texts), array(edit, { maxLength: 4 }));

export function anyDocument(minor: Minor): fc.Arbitrary<string> {
  return withEdits(
    fc.oneof(
      { weight: 5, arbitrary: written(minor, true) },
      { weight: 3, arbitrary: written(minor, false) },
      { weight: 1, arbitrary: one(...payloads) },
      { weight: 1, arbitrary: spliced },
    ),
  );
}
