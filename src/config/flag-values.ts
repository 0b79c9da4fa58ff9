/** Parses the values of kubelet flags by type, with the kubelet's own error messages. */

import { checkLabelValue, checkQualifiedName } from '../api/names.js';
import { formatDuration, parseDuration } from '../go/duration.js';
import { isGoIp } from '../go/ip.js';
import { canonicalQuantity, quantityProblem } from '../go/quantity.js';
import { quote } from '../go/quote.js';
import { setOwn } from './copy.js';
import type { FlagType } from './facts/flag-rows.js';
import type { Minor } from './model.js';

/** Go's words for a value that cannot be read. */
export class FlagValueError extends Error {
  override readonly name = 'FlagValueError';
}

/** Value that a flag writes, given these values in order. `before` is the value in the config. Throws FlagValueError. */
export function readFlag(type: FlagType | 'float', values: readonly string[], before: unknown, minor: Minor): unknown {
  const last = values[values.length - 1]!;
  switch (type) {
    case 'string':
      return last;
    case 'bool':
      return values.map(parseBool).pop();
    case 'int32':
      return values.map((value) => parseInteger(value, 32)).pop();
    case 'int64':
      return values.map((value) => parseInteger(value, 64)).pop();
    case 'float':
      return values.map(parseFloat64).pop();
    case 'level':
      return values.map((value) => parseLevel(value, minor)).pop();
    case 'ip':
      return values.map(parseIp).reduce((kept, value) => (value === '' ? kept : value), before);
    case 'duration':
      return values.map(parseGoDuration).pop();
    case 'quantity':
      return values.map(parseGoQuantity).pop();
    case 'list':
      return values.flatMap(parseCsv);
    case 'map=':
      return parsePairs(values.flatMap(splitCommas), '=', (_key, value) => value);
    case 'pair=':
      return parsePairs(values, '=', (_key, value) => value);
    case 'map<':
      return parsePairs(values.flatMap(splitCommas), '<', (_key, value) => value);
    case 'gates':
      return parsePairs(values.flatMap(splitCommas), '=', parseGate, 'bool');
    case 'headers':
      return parseHeaders(values);
    case 'taints':
      return values.map(parseTaints).pop();
    case 'reservedMemory':
      return values.filter((value) => value !== '').flatMap((value) => parseReservedMemory(value, minor));
    case 'vmodule':
      return [...((before as unknown[] | null) ?? []), ...values.flatMap(parseVmodule)];
  }
}

function fail(message: string): never {
  throw new FlagValueError(message);
}

function parseBool(text: string): boolean {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  return fail(`strconv.ParseBool: parsing ${quote(text)}: invalid syntax`);
}

/** With Go's base prefixes and underscores between digits. */
function parseInteger(text: string, bits: 32 | 64): number | bigint {
  const match = /^([-+]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?\d)*)$/.exec(text);
  if (match === null) return fail(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`);
  const digits = match[2]!.replaceAll('_', '').toLowerCase();
  const size = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const value = match[1] === '-' ? -size : size;
  const limit = 2n ** BigInt(bits - 1);
  if (value < -limit || value >= limit) fail(`strconv.ParseInt: parsing ${quote(text)}: value out of range`);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function parseFloat64(text: string): number {
  if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text))
    fail(`strconv.ParseFloat: parsing ${quote(text)}: invalid syntax`);
  return Number(text);
}

/** Log levels: no sign since the config holds them. */
function parseLevel(text: string, minor: Minor): number {
  const name = minor < 23 ? 'ParseInt' : 'ParseUint';
  if (!(minor < 23 ? /^[-+]?\d+$/ : /^\d+$/).test(text))
    fail(`strconv.${name}: parsing ${quote(text)}: invalid syntax`);
  if (Math.abs(Number(text)) >= 2 ** 31) fail(`strconv.${name}: parsing ${quote(text)}: value out of range`);
  return Number(text);
}

/** Empty text leaves the address as it is. */
function parseIp(text: string): string {
  if (text !== '' && !isGoIp(text)) fail(`${quote(text)} is not a valid IP address`);
  return text;
}

function parseGoDuration(text: string): string {
  try {
    return formatDuration(parseDuration(text));
  } catch (error) {
    return fail((error as Error).message);
  }
}

function parseGoQuantity(text: string): string {
  return quantityProblem(text) === undefined ? canonicalQuantity(text)! : fail(quantityProblem(text)!);
}

function parseCsv(text: string): string[] {
  if (text === '') return [];
  const items: string[] = [];
  const pattern = /("(?:[^"]|"")*"|[^",]*)(,|$)/y;
  do {
    const match = pattern.exec(text);
    if (match === null)
      return fail(`parse error on line 1, column ${text.indexOf('"') + 1}: bare " in non-quoted-field`);
    const item = match[1]!;
    items.push(item.startsWith('"') ? item.slice(1, -1).replaceAll('""', '"') : item);
    if (match[2] === '') return items;
  } while (pattern.lastIndex <= text.length);
  return items;
}

function splitCommas(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

function parsePairs<T>(
  pairs: readonly string[],
  separator: string,
  read: (key: string, value: string) => T,
  what = 'string',
): Record<string, T> {
  const map: Record<string, T> = {};
  for (const pair of pairs) {
    const cut = pair.indexOf(separator);
    if (cut < 0) fail(`malformed pair, expect string${separator}${what}`);
    const key = pair.slice(0, cut).trim();
    setOwn(map, key, read(key, pair.slice(cut + 1).trim()));
  }
  return map;
}

function parseGate(key: string, value: string): boolean {
  try {
    return parseBool(value);
  } catch (error) {
    return fail(`invalid value of ${key}: ${value}, err: ${(error as Error).message}`);
  }
}

function parseHeaders(values: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  parsePairs(values.flatMap(splitCommas), ':', (key, value) => {
    setOwn(headers, key, [...(Object.hasOwn(headers, key) ? headers[key]! : []), value]);
  });
  return headers;
}

function parseTaints(text: string): unknown {
  if (text === '') return null;
  const seen = new Set<string>();
  const taints: Record<string, string>[] = [];
  for (const spec of text.split(',')) {
    if (spec.endsWith('-')) {
      parseTaint(spec.slice(0, -1));
      continue;
    }
    const { key, value, effect } = parseTaint(spec);
    if (effect === '') fail(`invalid taint spec: ${spec}`);
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) fail(`duplicated taints with the same key and effect: {${key} ${value} ${effect} <nil>}`);
    seen.add(identity);
    taints.push(value === '' ? { key, effect } : { key, value, effect });
  }
  return taints.length === 0 ? null : taints;
}

function parseTaint(spec: string): { key: string; value: string; effect: string } {
  const parts = spec.split(':');
  if (parts.length > 2) fail(`invalid taint spec: ${spec}`);
  const effect = parts[1] ?? '';
  if (parts.length === 2 && !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect))
    fail(`invalid taint effect: ${effect}, unsupported taint effect`);
  const pair = parts.length === 2 ? parts[0]!.split('=') : [parts[0]!];
  if (pair.length > 2) fail(`invalid taint spec: ${spec}`);
  const [key, value = ''] = pair as [string, string?];
  const problems = pair.length === 2 ? checkLabelValue(value) : [];
  if (problems.length === 0) problems.push(...checkQualifiedName(key));
  if (problems.length > 0) fail(`invalid taint spec: ${spec}, ${problems.join('; ')}`);
  return { key, value, effect };
}

function parseReservedMemory(text: string, minor: Minor): unknown[] {
  // Several nodes in one flag came with 1.24.
  return (minor < 24 ? [text] : text.split(';')).map((reservation) => {
    const parts = reservation.split(':');
    if (parts.length !== 2)
      fail(
        `the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${reservation}`,
      );
    const [node, list] = parts as [string, string];
    if (!/^[-+]?\d+$/.test(node)) fail(`failed to convert the NUMA node ID, exptected integer, got ${node}`);
    const limits: Record<string, string> = {};
    for (const limit of list.split(',')) {
      const [type, quantity, ...more] = limit.split('=');
      if (quantity === undefined || more.length > 0)
        fail(`the reserved limit has incorrect value, expected type=quantatity, got ${limit}`);
      if (type !== 'memory' && !type!.startsWith('hugepages-'))
        fail(`memory type conversion error, unknown type: ${quote(type!)}`);
      const canonical = canonicalQuantity(quantity!);
      if (canonical === undefined) fail(`failed to parse the quantatity, expected quantatity, got ${quantity}`);
      limits[type!] = canonical!;
    }
    return { numaNode: Number(node), limits };
  });
}

function parseVmodule(text: string): unknown[] {
  return splitCommas(text).map((part) => {
    const [filePattern, level, ...more] = part.split('=');
    if (!filePattern || !level || more.length > 0) fail(`${quote(part)} does not have the pattern=N format`);
    if (!/^\d+$/.test(level!) || Number(level) >= 2 ** 31)
      fail(`parsing verbosity in ${quote(part)}: strconv.ParseUint: parsing ${quote(level!)}: invalid syntax`);
    return { filePattern, verbosity: Number(level) };
  });
}
