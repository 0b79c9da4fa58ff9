/**
 * The statement: the text that is signed for a ConfigMap. One line for each fact, in one order, so that equal facts are equal bytes:
 *
 *     relet.dev/kubelet-config statement v1
 *     serial 1795030000
 *     floor 1795020000
 *     not-before 2026-11-18T19:00:00Z                   optional
 *     not-after 2027-02-18T19:00:00Z                    optional
 *     pool gpu                                          any number, sorted
 *     annotation relet.dev/skip-forecast "true"         any number, sorted; the value as JSON
 *     data kubelet sha256:9f86d081884c7d65…             every key of data, sorted
 *     binary-data blob sha256:60303ae22b998861…         every key of binaryData, sorted
 *
 * Each line ends with one line feed. docs/signing.md describes it byte by byte.
 */
import { createHash } from 'node:crypto';
import { countedAnnotations } from '../../api/signing.js';
import { setOwn } from '../copy.js';

/** The signed parts of a ConfigMap: keys with the SHA-256 of their bytes, and the annotations that have an effect. */
export interface SignedContent {
  data: Record<string, string>;
  binaryData: Record<string, string>;
  annotations: Record<string, string>;
}

export interface Statement extends SignedContent {
  /** Empty: for hosts whose trust file names no pool. */
  pools: string[];
  serial: number;
  /** Once this config is last known good, its node rejects lower serials. */
  floor: number;
  /** UTC seconds. */
  notBefore?: number;
  /** UTC seconds. */
  notAfter?: number;
}

interface ConfigMapParts {
  data?: Record<string, string> | undefined;
  /** Base64. */
  binaryData?: Record<string, string> | undefined;
  annotations?: Record<string, string> | undefined;
}

export function contentOf({ data = {}, binaryData = {}, annotations = {} }: ConfigMapParts): SignedContent {
  return {
    data: mapValues(data, (text) => sha256(Buffer.from(text, 'utf8'))),
    binaryData: mapValues(binaryData, (text) => sha256(Buffer.from(text, 'base64'))),
    annotations: countedOf(annotations),
  };
}

export function countedOf(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => countedAnnotations.includes(name)));
}

const firstLine = 'relet.dev/kubelet-config statement v1';
const name = /^[-._a-zA-Z0-9]{1,253}$/;
export const poolName = name;
const annotationName = /^relet\.dev\/[-a-z]{1,63}$/;
const wholeNumber = /^(0|[1-9][0-9]{0,15})$/;
const line =
  /^(?:(serial|floor|not-before|not-after|pool) (\S+)|(data|binary-data) (\S+) sha256:([0-9a-f]{64})|annotation (\S+) ("[^\n]*"))$/;

/** Throws an Error for what cannot be in a statement. */
export function formatStatement(statement: Statement): string {
  const { pools, serial, floor, notBefore, notAfter } = statement;
  for (const [what, number] of Object.entries({ serial, floor }))
    if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${what} ${number} is not a whole number`);
  if (floor > serial) throw new Error(`floor ${floor} is above the serial ${serial}: its own node would reject it`);
  if (notBefore !== undefined && notAfter !== undefined && notAfter <= notBefore)
    throw new Error(`not-after ${timeText(notAfter)} is not later than not-before ${timeText(notBefore)}`);
  if (Object.keys(statement.data).length === 0) throw new Error('there is no key to sign under data');
  const lines = [
    firstLine,
    `serial ${serial}`,
    `floor ${floor}`,
    ...(notBefore === undefined ? [] : [`not-before ${timeText(notBefore)}`]),
    ...(notAfter === undefined ? [] : [`not-after ${timeText(notAfter)}`]),
    ...[...new Set(pools)].sort().map((pool) => `pool ${checked(pool, name, 'name of a pool')}`),
    ...contentLines(statement),
  ];
  return `${lines.join('\n')}\n`;
}

/** Throws an Error for a text that formatStatement() does not return. */
export function parseStatement(text: string): Statement {
  const [first, ...lines] = text.split('\n');
  if (first !== firstLine)
    throw new Error(`it begins with ${JSON.stringify(first?.slice(0, 80))}, and this relet reads '${firstLine}'`);
  const single = new Map<string, string>();
  const statement: Statement = { data: {}, binaryData: {}, annotations: {}, pools: [], serial: 0, floor: 0 };
  for (const [index, one] of lines.slice(0, -1).entries()) {
    const [, fact, value = '', kind, key = '', digest = '', annotation = '', json = ''] = line.exec(one) ?? [];
    if (fact === 'pool') statement.pools.push(value);
    else if (fact !== undefined) single.set(fact, value);
    else if (kind !== undefined) setOwn(kind === 'data' ? statement.data : statement.binaryData, key, digest);
    else if (annotation !== '') setOwn(statement.annotations, annotation, textOf(json, index + 2));
    else throw new Error(`line ${index + 2} is not one of a statement: ${JSON.stringify(one.slice(0, 80))}`);
  }
  statement.serial = numberOf('serial', single.get('serial'));
  statement.floor = numberOf('floor', single.get('floor'));
  const [notBefore, notAfter] = [timeOf(single.get('not-before')), timeOf(single.get('not-after'))];
  if (notBefore !== undefined) statement.notBefore = notBefore;
  if (notAfter !== undefined) statement.notAfter = notAfter;
  // One text for equal facts: an order, a repetition or a number in another form is not let through.
  if (formatStatement(statement) !== text) throw new Error('its lines are not in the canonical order and form');
  return statement;
}

/** SHA-256 of what is started: equal for two ConfigMaps with the same keys, bytes and annotations that count. */
export function contentDigest(content: SignedContent): string {
  const { data, binaryData, annotations } = content;
  // Keys that no statement can name have a digest all the same.
  const sorted = [annotations, data, binaryData].map((part) => Object.entries(part).sort(byName));
  return sha256(JSON.stringify(sorted));
}

export function sameContent(a: SignedContent, b: SignedContent): boolean {
  return contentDigest(a) === contentDigest(b);
}

function contentLines({ data, binaryData, annotations }: SignedContent): string[] {
  const files = (kind: string, part: Record<string, string>) =>
    Object.entries(part)
      .sort(byName)
      .map(([key, digest]) => `${kind} ${checked(key, name, 'key')} sha256:${digest}`);
  return [
    ...Object.entries(annotations)
      .sort(byName)
      .map(([key, value]) => `annotation ${checked(key, annotationName, 'annotation')} ${JSON.stringify(value)}`),
    ...files('data', data),
    ...files('binary-data', binaryData),
  ];
}

/** By code unit, whatever the locale. */
const byName = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);

function checked(text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} cannot be the ${what} in a statement`);
  return text;
}

function numberOf(what: string, text: string | undefined): number {
  if (text === undefined || !wholeNumber.test(text)) throw new Error(`it has no ${what} that is a whole number`);
  return Number(text);
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) || Number.isNaN(ms))
    throw new Error(`${JSON.stringify(text)} is not a time such as 2026-11-18T19:00:00Z`);
  return ms / 1000;
}

function timeText(seconds: number): string {
  const text = Number.isSafeInteger(seconds) && seconds >= 0 && seconds < 253402300800;
  if (!text) throw new Error(`${seconds} is not a time in UTC seconds`);
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function textOf(json: string, at: number): string {
  try {
    return String(JSON.parse(json));
  } catch (cause) {
    throw new Error(`line ${at} has a value that is not JSON`, { cause });
  }
}

function mapValues(part: Record<string, string>, of: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, of(value)]));
}

export const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
