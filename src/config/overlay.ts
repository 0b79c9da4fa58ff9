/**
 * KubeletConfigurationOverlay: a payload that has only the fields it changes. The agent merges it into the node's local
 * config (merge.ts).
 *
 *   apiVersion: relet.dev/v1alpha1
 *   kind: KubeletConfigurationOverlay
 *   config: {maxPods: 150}
 *   unset: [clusterDomain]
 */
import { quote } from '../go/quote.js';
import type { Entry, Position, Value } from '../go/yaml/value.js';
import { asYaml } from '../go/yaml/write.js';
import { isObject } from '../json.js';
import { canonical } from './canonical.js';
import { DecodeError, strictFindings } from './decode.js';
import { decodeFields } from './decode-fields.js';
import { type Document, DocumentError, readDocument } from './document.js';
import { formatPath } from './field-path.js';
import { fields } from './fields.js';
import { header, overlayHeader } from './header.js';
import { identify } from './identity.js';
import { countOf, listed } from './listed.js';
import { type Finding, getField, knownMinor, type Minor, newestMinor, type Overlay, type Positions } from './model.js';
import { pathOfField, unknownFieldMessage } from './set-field.js';
import { shapeOf } from './shape.js';
import { unknownKey } from './unset-key.js';

export { overlayHeader } from './header.js';
export type { Overlay } from './model.js';
export { overlayFrom } from './overlay-from.js';

export interface DecodedOverlay {
  overlay: Overlay;
  /** In the order of the text. */
  findings: Finding[];
  /** Position of each field that is set or unset, by its path in a KubeletConfiguration. */
  positions: Positions;
}

export interface DecodeOverlayOptions {
  minor: Minor;
  /** Name of the overlay in messages. */
  file?: string;
  /** Unknown and duplicate fields are errors, not warnings. Default true. */
  strict?: boolean;
  /** Keys under unset that no kubelet knows are errors. Default false: stored overlays may have them, and they do nothing. */
  strictKeys?: boolean;
}

/** Parses only a text that can hold the kind: as it is, in an escape, or behind a tag such as !!binary. */
export function isOverlay(text: string): boolean {
  if (!text.includes(overlayHeader.kind) && !/[\\!]/.test(text)) return false;
  try {
    const { group, kind } = identify(readDocument(text).value, '', newestMinor).identity;
    return group === 'relet.dev' && kind === overlayHeader.kind;
  } catch {
    // Decoding reports what is wrong with the text.
    return false;
  }
}

/** `NodeConfigSet (relet.dev/v1alpha1)`: an object that is neither a config of the kubelet nor an overlay; undefined for all else. */
export function otherObject(text: string): { kind: string; apiVersion: string } | undefined {
  try {
    const { value } = readDocument(text);
    const { group, version, kind } = identify(value, '', newestMinor).identity;
    const isWanted = group === header.apiVersion.split('/')[0] || group === 'kubeletconfig' || isOverlay(text);
    const isObject = value.kind === 'object' && value.entries.some(({ key }) => key === 'kind');
    return isWanted || !isObject ? undefined : { kind, apiVersion: group === '' ? version : `${group}/${version}` };
  } catch {
    return undefined;
  }
}

/**
 * Whether a text is to be read as an overlay where one is expected: whatever is not a whole config, also a text that cannot be
 * parsed. Decoding reports what is wrong with it.
 */
export function isMeantAsOverlay(text: string): boolean {
  try {
    const { value } = readDocument(text);
    const kind = value.kind === 'object' ? value.entries.find(({ key }) => key === 'kind')?.value : undefined;
    return kind?.kind !== 'string' || kind.value !== 'KubeletConfiguration';
  } catch {
    return true;
  }
}

/** Throws DecodeError, with all errors in the order of the text. */
export function decodeOverlay(text: string, options: DecodeOverlayOptions): DecodedOverlay {
  const { error, ...decoded } = readOverlay(text, options);
  if (error !== undefined) throw error;
  return decoded;
}

/** Reads the decodable part; with an error if not all could be decoded, whose findings are among the others. */
export function readOverlay(text: string, options: DecodeOverlayOptions): DecodedOverlay & { error?: DecodeError } {
  const decoder = new OverlayDecoder(knownMinor(options.minor), options.strict !== false, options.strictKeys === true);
  decoder.text(text);
  const findings = listed(decoder.findings).sort((a, b) => a.line! - b.line! || a.column! - b.column!);
  const errors = findings.filter(({ severity }) => severity === 'error');
  const decoded = { overlay: decoder.overlay, findings, positions: decoder.positions };
  return errors.length === 0
    ? decoded
    : { ...decoded, error: new DecodeError(inOneLine(errors, options.file), findings) };
}

/** Equal overlays give equal text. */
export function encodeOverlay({ config, unset }: Overlay): string {
  const sorted = canonical(config);
  const paths = [...new Set(unset)].sort();
  return asYaml({
    ...overlayHeader,
    ...((Object.keys(sorted).length > 0 || paths.length === 0) && { config: sorted }),
    ...(paths.length > 0 && { unset: paths }),
  });
}

function inOneLine(errors: readonly Finding[], file = 'overlay'): string {
  const [{ path, message, line, column }, ...others] = errors as [Finding, ...Finding[]];
  const end = /[.?]$/.test(message) ? '' : '.';
  const count = countOf(others);
  const more = count === 0 ? '' : `${end} ${count} more error${count === 1 ? '' : 's'}`;
  const field = path === '' || message.includes(path) ? '' : `${path}: `;
  return `cannot decode overlay: ${file}:${line}:${column}: ${field}${message}${more}`;
}

class OverlayDecoder {
  readonly findings: Finding[] = [];
  readonly overlay: Overlay = { config: {}, unset: [] };
  positions = new Map<string, Position>();
  private readonly minor: Minor;
  private readonly strict: boolean;
  private readonly strictKeys: boolean;
  private readonly unsetPaths = new Set<string>();
  private unknownPaths = 0;

  constructor(minor: Minor, strict: boolean, strictKeys: boolean) {
    this.minor = minor;
    this.strict = strict;
    this.strictKeys = strictKeys;
  }

  text(text: string): void {
    try {
      this.document(readDocument(text));
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.error('', error.at, error.message.replace(/^couldn't get version\/kind; json parse error: /, ''));
    }
  }

  private document({ value, duplicates, moreDuplicates = 0, ignoredAt }: Document): void {
    if (value.kind !== 'object') {
      this.error('', value.at, 'an overlay is a mapping with apiVersion, kind, config and unset');
      return;
    }
    this.header(value.entries, value.at);
    const parts = new Map(value.entries.map((entry) => [entry.key, entry.value]));
    this.topLevel(value.entries);
    const inConfig = duplicates.map((twice) => ({
      ...twice,
      path: twice.path[0] === 'config' && twice.path.length > 1 ? twice.path.slice(1) : twice.path,
    }));
    this.config(parts.get('config') ?? { kind: 'null', at: value.at }, { duplicates: inConfig, moreDuplicates });
    this.unset(parts.get('unset') ?? { kind: 'null', at: value.at });
    if (ignoredAt) this.forgivable('', ignoredAt, 'only the first document is read; what begins here has no effect');
  }

  private header(entries: readonly Entry[], at: Position): void {
    for (const [name, wanted] of Object.entries(overlayHeader)) {
      const entry = entries.find(({ key }) => key === name);
      if (entry === undefined) this.error(name, at, `${name} is missing: write ${name}: ${wanted}`);
      else if (entry.value.kind !== 'string' || entry.value.value !== wanted)
        this.error(name, entry.value.at, headerMessage(name, entry.value, wanted));
    }
  }

  private topLevel(entries: readonly Entry[]): void {
    const seen = new Set<string>();
    for (const { key, keyAt } of entries) {
      if (seen.has(key))
        this.forgivable(key, keyAt, `duplicate field "${key}": ${this.strict ? 'remove one' : 'the last one counts'}`);
      seen.add(key);
      if (Object.hasOwn(overlayHeader, key) || key === 'config' || key === 'unset') continue;
      const isField = shapeOf(this.minor).fields.has(key);
      const hint = isField ? `: write it under config` : ': an overlay has apiVersion, kind, config and unset';
      this.forgivable(key, keyAt, `unknown field "${key}"${hint}`);
    }
  }

  private config(value: Value, duplicates: Pick<Document, 'duplicates' | 'moreDuplicates'>): void {
    if (value.kind !== 'object' && value.kind !== 'null') {
      this.error('', value.at, `config must be a mapping of KubeletConfiguration fields, not ${value.kind}`);
      return;
    }
    const decoded = decodeFields(value, shapeOf(this.minor), this.minor);
    for (const error of decoded.errors) this.findings.push(error);
    for (const finding of strictFindings(decoded, duplicates, this.minor, this.strict))
      this.findings.push({ ...finding, source: 'relet' });
    this.overlay.config = decoded.config;
    this.positions = decoded.positions;
    for (const { key, keyAt } of value.kind === 'object' ? value.entries : [])
      if (Object.hasOwn(overlayHeader, key))
        this.error(key, keyAt, `config has no ${key} of its own: remove it, the overlay's header is at the top`);
    if (value.kind === 'object') this.rejectNulls(value, []);
    this.rejectRelativePaths();
  }

  /** `parts` lead to the value; they are changed meanwhile. */
  private rejectNulls(value: Value, parts: string[], depth = 0): void {
    if (depth > maxDepth) this.error(parts[0] ?? '', value.at, 'nested deeper than any field of a kubelet config');
    else if (value.kind === 'null') {
      const path = formatPath(parts, this.minor);
      this.error(path, value.at, 'null is not allowed, because kubectl apply removes it; list the field under unset');
    } else if (value.kind === 'array') for (const item of value.items) this.rejectNulls(item, parts, depth + 1);
    else if (value.kind === 'object')
      for (const { key, value: child } of value.entries) {
        parts.push(key);
        this.rejectNulls(child, parts, depth + 1);
        parts.pop();
      }
  }

  private rejectRelativePaths(): void {
    for (const { path, isHostPath } of fields) {
      const value = isHostPath ? getField(this.overlay.config, path) : undefined;
      if (typeof value !== 'string' || value === '' || value.startsWith('/')) continue;
      const message = `'${value}' is a relative path; nodes may keep their files in different directories, write it absolute`;
      this.error(path, this.positions.get(path)!, message);
    }
  }

  private unset(value: Value): void {
    if (value.kind !== 'array' && value.kind !== 'null') {
      this.error('unset', value.at, `unset must be a list of field paths, not ${value.kind}`);
      return;
    }
    for (const item of value.kind === 'array' ? value.items : []) {
      if (item.kind !== 'string')
        this.error('unset', item.at, `unset must be a list of field paths, not of ${item.kind}`);
      else this.unsetPath(item.value, item.at);
    }
  }

  private unsetPath(name: string, at: Position): void {
    const parts = pathOfField(name, this.minor);
    if (parts === undefined) {
      this.forgivable(name, at, unknownFieldMessage(name, this.minor, { guess: this.unknownPaths++ < maxGuesses }));
      return;
    }
    const path = formatPath(parts, this.minor);
    this.unsetKey(parts, path, at);
    if (this.isSet(parts)) this.error(path, at, 'both set and unset: keep one of them');
    else if (!this.unsetPaths.has(path)) {
      this.unsetPaths.add(path);
      this.overlay.unset.push(path);
      this.positions.set(path, at);
    }
  }

  /** Whether config sets the path, something in it, or a list, a value or an empty map that it would be in. */
  private isSet(parts: readonly string[]): boolean {
    const { config } = this.overlay;
    let value: unknown = config;
    for (const part of parts) {
      if (!isObject(value)) return true;
      if (!Object.hasOwn(value, part)) return value !== config && Object.keys(value).length === 0;
      value = value[part];
    }
    return true;
  }

  private unsetKey(parts: readonly string[], path: string, at: Position): void {
    const message = unknownKey(parts, this.minor, { guess: this.unknownPaths < maxGuesses });
    if (message === undefined) return;
    this.unknownPaths++;
    this.findings.push({ severity: this.strictKeys ? 'error' : 'warning', source: 'relet', path, ...at, message });
  }

  private error(path: string, at: Position, message: string): void {
    this.findings.push({ severity: 'error', source: 'relet', path, ...at, message });
  }

  private forgivable(path: string, at: Position, message: string): void {
    this.findings.push({ severity: this.strict ? 'error' : 'warning', source: 'relet', path, ...at, message });
  }
}

function headerMessage(name: string, value: Value, wanted: string): string {
  if (name === 'kind' && value.kind === 'string' && /^(?!KubeletConfiguration$).*(overlay|kubelet)/i.test(value.value))
    return `kind ${quote(value.value)} is not known; did you mean "${wanted}"?`;
  return `${name} of an overlay must be ${wanted}`;
}

const maxGuesses = 50;
/** No kubelet reads an overlay, so there is no need to allow what Go allows. */
const maxDepth = 100;
