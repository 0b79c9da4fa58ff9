/** Reads a KubeletConfiguration as the kubelet of a minor does: strict first, then lenient. */
import { goQuote } from '../go/quote.js';
import type { Duplicate } from '../go/yaml/compose.js';
import { convertAlpha, isAlpha } from './alpha.js';
import { decodeFields, type FieldsResult, type StrictNote } from './decode-fields.js';
import { DocumentError, type Identity, identify, notRegistered, readDocument } from './document.js';
import { fieldAt, fieldsOf } from './fields.js';
import { type Finding, type KubeletConfig, knownMinor, type Minor, type Position, type Positions } from './model.js';
import { shapeOf } from './shape.js';
import { deeper, nearest } from './suggest.js';

export interface DecodeOptions {
  minor: Minor;
  /** Name of the file in messages. */
  file?: string;
  /** What the kubelet's lenient decoding forgives (unknown and duplicate fields) is an error, not a warning. Default true. */
  strict?: boolean;
}

export interface Decoded {
  /** What the document sets, by v1beta1 field names; defaults not yet applied. */
  config: KubeletConfig;
  findings: Finding[];
  positions: Positions;
  /** Why the kubelet fell back to lenient decoding, as it logs it; '' when it did not. */
  lenientReason: string;
  /** The document names the kubelet's internal version, which gets no defaults. */
  isInternal: boolean;
  /** The document was of v1alpha1 and has been converted; kubelets from 1.11 on would not read the original. */
  isAlpha: boolean;
}

/** The kubelet would refuse to decode this. `message` is the kubelet's, as its loader returns it. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly findings: Finding[];
  constructor(message: string, findings: Finding[]) {
    super(message);
    this.findings = findings;
  }
}

/** Throws DecodeError, and nothing else, when the kubelet would refuse. */
export function decode(text: string, { minor, file = 'kubelet.yaml', strict = true }: DecodeOptions): Decoded {
  if (text === '') {
    const message = `kubelet config file ${goQuote(file)} was empty`;
    throw new DecodeError(message, [problem('', { line: 1, column: 1 }, message)]);
  }
  const prefix = minor < 17 ? 'failed to decode, error: ' : 'failed to decode: ';
  try {
    return decodeText(text, knownMinor(minor), strict, prefix);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    // The kubelet quotes the whole document; a finding need not.
    const shown = error.message.replace(/^(Object '\w+' is missing) in '.*$/s, '$1');
    throw new DecodeError(prefix + error.message, [problem('', error.at, shown)]);
  }
}

function decodeText(text: string, minor: Minor, strict: boolean, prefix: string): Decoded {
  const { value: document, duplicates, ignoredAt } = readDocument(text, minor);
  const identity = identify(document, text);
  const alpha = isAlpha(identity.group, identity.version) && identity.kind === 'KubeletConfiguration';
  const internal = identity.group === kubeletGroup && identity.version === '__internal';
  if (!alpha && !internal) refuseOthers(identity, minor, document.at);
  // The internal type has no JSON names, so nothing in the document fits it.
  const shape = internal ? { ...shapeOf(minor), fields: new Map() } : shapeOf(minor);
  const converted = alpha ? convertAlpha(document, shape, minor) : { value: document, findings: [] };
  const fields = decodeFields(converted.value, shape, minor);
  if (fields.message !== undefined) throw new DecodeError(prefix + fields.message, fields.errors);
  const findings = [...converted.findings, ...strictFindings(fields, duplicates, minor, strict)];
  if (ignoredAt !== undefined) findings.push(ignored(ignoredAt));
  const { config, positions } = fields;
  const lenientReason = minor < 17 ? '' : strictError(fields, duplicates);
  return { config, findings, positions, lenientReason, isInternal: internal, isAlpha: alpha };
}

const kubeletGroup = 'kubelet.config.k8s.io';

/** Kinds of the kubelet's scheme that decode, and are then the wrong ones: group version, kind, first minor. */
const otherKinds: readonly (readonly [version: string, kind: string, first: Minor])[] = [
  ['v1beta1', 'SerializedNodeConfigSource', 11],
  ['v1alpha1', 'CredentialProviderConfig', 20],
  ['v1beta1', 'CredentialProviderConfig', 24],
  ['v1', 'CredentialProviderConfig', 26],
  ['v1alpha1', 'ImagePullIntent', 33],
  ['v1alpha1', 'ImagePulledRecord', 33],
];

function refuseOthers(identity: Identity, minor: Minor, at: { line: number; column: number }): void {
  const { group, version, kind } = identity;
  if (group === kubeletGroup && version === 'v1beta1' && kind === 'KubeletConfiguration') return;
  const isKnown = otherKinds.some(([v, k, first]) => v === version && k === kind && first <= minor);
  if (group !== kubeletGroup || !isKnown) throw new DocumentError(notRegistered(identity, minor), at);
  const message = `failed to cast object to KubeletConfiguration, unexpected type: ${group}/${version}, Kind=${kind}`;
  throw new DecodeError(message, [problem('', at, message)]);
}

function strictError(fields: FieldsResult, duplicates: readonly Duplicate[]): string {
  const parts = [...fields.strict];
  if (duplicates.length > 0) {
    const lines = duplicates.map(({ line, message }) => `  line ${line}: ${message}`);
    parts.unshift(`yaml: unmarshal errors:\n${lines.join('\n')}`);
  }
  return parts.length === 0 ? '' : `strict decoding error: ${parts.join(', ')}`;
}

export function strictFindings(
  fields: FieldsResult,
  duplicates: readonly Duplicate[],
  minor: Minor,
  strict: boolean,
): Finding[] {
  const severity = strict ? 'error' : 'warning';
  // Before 1.17 the kubelet drops unknown fields silently.
  const source = minor < 17 ? 'relet' : 'kubelet';
  const repeated = [
    ...duplicates.map(({ path, at }) => ({ path: path.join('.'), name: path[path.length - 1]!, at })),
    ...fields.duplicate,
  ];
  return [
    ...repeated.map(({ path, name, at }): Finding => {
      const message = `duplicate field ${goQuote(name)}: the last one counts`;
      return { severity, source, path, ...at, message };
    }),
    ...fields.unknown.map((note, index): Finding => {
      const message = unknownField(note, minor, index < maxGuesses);
      return { severity, source, path: note.path, ...note.at, message };
    }),
  ];
}

/** A guess costs a look at every field; a document of unknown fields alone must not cost minutes. */
const maxGuesses = 50;

function unknownField({ path, name, within }: StrictNote, minor: Minor, mayGuess: boolean): string {
  const known = fieldAt(path.replace(/\[\d+\]/g, '[]'));
  const unknown = `unknown field ${goQuote(name)}`;
  if (known !== undefined && known.first > minor) return `${unknown}: it came with 1.${known.first}`;
  if (known !== undefined) return `${unknown}: it went after 1.${known.last}`;
  if (!mayGuess) return unknown;
  const near = within && nearest(name, within.fields.keys());
  const paths = near?.toLowerCase() === name.toLowerCase() ? [] : deeper(name, pathsOf(minor));
  const guesses = paths.length > 0 || near === undefined ? paths : [near];
  return guesses.length === 0 ? unknown : `${unknown}: did you mean ${guesses.map(goQuote).join(' or ')}?`;
}

const pathsOf = (minor: Minor): string[] => fieldsOf(minor).map(({ path }) => path);

function ignored(at: Position): Finding {
  const message = 'the kubelet reads the first document only; what begins here has no effect';
  return { severity: 'warning', source: 'relet', path: '', ...at, message };
}

function problem(path: string, at: { line: number; column: number }, message: string): Finding {
  return { severity: 'error', source: 'kubelet', path, ...at, message };
}
