/** Reads a KubeletConfiguration as the kubelet of a minor does: strict first, then lenient. */
import { quote } from '../go/quote.js';
import type { Duplicate } from '../go/yaml/compose.js';
import type { Value } from '../go/yaml/value.js';
import { convertAlpha } from './alpha.js';
import { decodeFields, type FieldsResult, type StrictNote } from './decode-fields.js';
import { type Document, DocumentError, readDocument } from './document.js';
import { fieldAt, fieldsOf } from './fields.js';
import { type Identity, type IdentityError, identify, isAlpha, isMeant } from './identity.js';
import { moreFindings, mostListed } from './listed.js';
import { type Finding, type KubeletConfig, knownMinor, type Minor, type Position, type Positions } from './model.js';
import { shapeOf } from './shape.js';
import { deeper, nearest } from './suggest.js';

export interface DecodeOptions {
  minor: Minor;
  /** Name of the file in messages. */
  file?: string;
  /** Unknown and duplicate fields, which the kubelet's lenient decoding ignores, are errors, not warnings. Default true. */
  strict?: boolean;
}

export interface Decoded {
  /** Fields that the document sets, by v1beta1 names; defaults not yet applied. */
  config: KubeletConfig;
  findings: Finding[];
  positions: Positions;
  /** Paths of fields that this minor does not have. */
  unknown: readonly string[];
  /** Why the kubelet fell back to lenient decoding, as it logs it; '' when it did not. */
  readonly lenientReason: string;
  /** The document was of v1alpha1 and has been converted; kubelets from 1.11 on would not read the original. */
  isAlpha: boolean;
}

/** The kubelet would refuse to decode this, or relet does. `message` is the kubelet's, as its loader returns it. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly findings: Finding[];
  /** The part that could be decoded all the same, with findings of its own; absent if nothing could. */
  readonly partial: Decoded | undefined;
  constructor(message: string, findings: Finding[], partial?: Decoded) {
    super(message);
    this.findings = findings;
    this.partial = partial;
  }
}

/** Throws DecodeError, and nothing else, when the kubelet would refuse, or relet cannot read what the kubelet reads. */
export function decode(text: string, { minor, file = 'kubelet.yaml', strict = true }: DecodeOptions): Decoded {
  if (text === '') {
    const message = `kubelet config file ${quote(file)} was empty`;
    throw new DecodeError(message, [problem({ message, at: { line: 1, column: 1 } })]);
  }
  const prefix = minor < 17 ? 'failed to decode, error: ' : 'failed to decode: ';
  try {
    return decodeText(text, knownMinor(minor), strict, prefix);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new DecodeError(prefix + error.message, [problem(error)]);
  }
}

function decodeText(text: string, minor: Minor, strict: boolean, prefix: string): Decoded {
  const read = readDocument(text, minor);
  const { value: document, ignoredAt } = read;
  const { identity, errors } = identify(document, text, minor);
  const [first] = errors;
  if (first !== undefined && !isReadable(document, identity, minor)) throw refusal(prefix, [first]);
  const alpha = isAlpha(identity);
  const shape = shapeOf(minor);
  const converted = alpha ? convertAlpha(document, shape, minor) : { value: document, findings: [] };
  const fields = decodeFields(converted.value, shape, minor);
  const decoded: Decoded = {
    config: fields.config,
    findings: [
      ...converted.findings,
      ...strictFindings(fields, read, minor, strict),
      ...(ignoredAt === undefined ? [] : [ignored(ignoredAt)]),
    ],
    positions: fields.positions,
    unknown: fields.unknown.map(({ path }) => path),
    get lenientReason() {
      return minor < 17 ? '' : strictError(fields, read.duplicates);
    },
    isAlpha: alpha,
  };
  if (first !== undefined) throw refusal(prefix, errors, fields.errors, decoded);
  if (fields.message !== undefined) throw new DecodeError(prefix + fields.message, fields.errors, decoded);
  return decoded;
}

/** Whether fields can be read although kind or apiVersion is wrong: only where they look like those of a KubeletConfiguration. */
function isReadable(document: Value, identity: Identity, minor: Minor): boolean {
  const known = shapeOf(minor).fields;
  return isMeant(identity) && document.kind === 'object' && document.entries.some(({ key }) => known.has(key));
}

function refusal(prefix: string, errors: IdentityError[], others: Finding[] = [], partial?: Decoded): DecodeError {
  const { message, isOther } = errors[0]!;
  return new DecodeError(isOther ? message : prefix + message, [...errors.map(problem), ...others], partial);
}

function strictError(fields: FieldsResult, duplicates: readonly Duplicate[]): string {
  const parts = fields.strict();
  if (duplicates.length > 0) {
    const lines = duplicates.map(({ line, message }) => `  line ${line}: ${message}`);
    parts.unshift(`yaml: unmarshal errors:\n${lines.join('\n')}`);
  }
  return parts.length === 0 ? '' : `strict decoding error: ${parts.join(', ')}`;
}

export function strictFindings(
  fields: Pick<FieldsResult, 'duplicate' | 'unknown'>,
  { duplicates, moreDuplicates = 0 }: Pick<Document, 'duplicates' | 'moreDuplicates'>,
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
  const repeatedFindings = repeated.slice(0, mostListed).map(({ path, name, at }): Finding => {
    const message = `duplicate field ${quote(name)}: ${strict ? 'remove one' : 'the last one counts'}`;
    return { severity, source, path, ...at, message };
  });
  const unknownFindings = fields.unknown.slice(0, mostListed).map((note, index): Finding => {
    const message = unknownField(note, minor, index < maxGuesses);
    return { severity, source, path: note.path, ...note.at, message };
  });
  return [
    ...withMore(repeatedFindings, repeated.length + moreDuplicates),
    ...withMore(unknownFindings, fields.unknown.length),
  ];
}

const withMore = (findings: Finding[], count: number): Finding[] =>
  count > findings.length ? [...findings, moreFindings(count - findings.length, findings.at(-1)!)] : findings;

/** A guess costs a look at every field; a document of unknown fields alone must not cost minutes. */
const maxGuesses = 50;

function unknownField({ path, name, within }: StrictNote, minor: Minor, mayGuess: boolean): string {
  const known = fieldAt(path.replace(/\[\d+\]/g, '[]'));
  const unknown = `unknown field ${quote(name)}`;
  if (known !== undefined && known.first > minor) return `${unknown}: it came with 1.${known.first}`;
  if (known !== undefined) return `${unknown}: it went after 1.${known.last}`;
  if (!mayGuess) return unknown;
  const near = within && nearest(name, within.fields.keys());
  const paths = near?.toLowerCase() === name.toLowerCase() ? [] : deeper(name, pathsOf(minor));
  const guesses = paths.length > 0 || near === undefined ? paths : [near];
  return guesses.length === 0 ? unknown : `${unknown}: did you mean ${guesses.map(quote).join(' or ')}?`;
}

const pathsOf = (minor: Minor): string[] => fieldsOf(minor).map(({ path }) => path);

function ignored(at: Position): Finding {
  const message = 'the kubelet reads the first document only; what begins here has no effect';
  return { severity: 'warning', source: 'relet', path: '', ...at, message };
}

/** The kubelet quotes the whole document; a finding need not. */
function problem({
  message,
  at,
  remedy,
  isOurs,
}: Pick<IdentityError, 'message' | 'at' | 'remedy' | 'isOurs'>): Finding {
  const shown = message.replace(/^(Object '\w+' is missing) in '.*$/s, '$1');
  const source = isOurs ? 'relet' : 'kubelet';
  return { severity: 'error', source, path: '', ...at, message: shown, ...(remedy && { remedy }) };
}
