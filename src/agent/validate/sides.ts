/**
 * The two sides that validation compares: the config that would be started, and the local config. Each is read as this kubelet version
 * reads it. Flags and gates that relet does not know change neither side, so that both stay comparable.
 */
import { type CheckOptions, type CheckResult, type Examination, examine, withEffective } from '../../config/check.js';
import { examineOverlay } from '../../config/check-overlay.js';
import { DecodeError } from '../../config/decode.js';
import { encode } from '../../config/encode.js';
import { emptyDocument } from '../../config/header.js';
import { type LocalFile, mergeLocal } from '../../config/merge.js';
import { type Finding, type Host, type KubeletConfig, type Minor, parentPath } from '../../config/model.js';
import type { Document } from '../documents.js';
import type { DividedCommandLine } from '../flags.js';
import type { Checkpoint } from '../state/checkpoints.js';

export interface Reader {
  commandLine: DividedCommandLine;
  host: Host;
  minor: Minor;
  patch?: number | undefined;
}

export interface LocalSide {
  /** As written, before defaults and flags. */
  document: KubeletConfig;
  /** After defaults and flags. Defaults for what could not be read. */
  effective: KubeletConfig;
  /** Place and reason of a part that could not be read. */
  unread?: { message: string; isKnown(field: string): boolean };
}

export function checkParts({
  commandLine,
  host,
  patch,
}: Omit<Reader, 'minor'>): Pick<CheckOptions, 'flags' | 'host' | 'patch'> {
  // The hollow kubelet has a few flags of its own; it validates them itself.
  const flags = commandLine.kubelet.filter(({ name }) => !name.startsWith('hollow-')).flatMap(({ words }) => words);
  return { flags, host, patch };
}

/** An overlay is examined as one, so that findings point into it, if that gives the document that would be started. */
export function examineCandidate(
  reader: Reader,
  { checkpoint, document }: { checkpoint: Checkpoint | undefined; document: Document },
  { text, file, local }: { text: string; file: string; local: LocalFile[] },
): Examination {
  if (checkpoint === undefined || document.mergedDigest === undefined) return examineText(reader, text, file);
  const overlay = checkpoint.config.toString('utf8');
  const options = { minor: reader.minor, ...checkParts(reader), lenient: true, local };
  const examined = examineOverlay(overlay, options);
  // The last known good was made from local files as they were then.
  return examined.mergedText === text ? examined : examineText(reader, text, file);
}

function examineText(reader: Reader, text: string, file?: string): Examination {
  const { minor } = reader;
  return examine(text, { minor, ...checkParts(reader), lenient: true, ...(file !== undefined && { file }) });
}

export function defaultConfig(reader: Reader, file?: string): KubeletConfig {
  return withEffective(examineText(reader, emptyDocument, file)).effective ?? {};
}

export function localSide(reader: Reader, files: LocalFile[]): LocalSide {
  const { text, error } = localText(files, reader.minor);
  const examined = examineText(reader, text, files[0]?.path);
  const { effective } = withEffective(examined);
  const document = examined.document ?? {};
  if (effective !== undefined && error === undefined) return { document, effective };
  const errors = error?.findings ?? examined.result.findings.filter(({ severity }) => severity === 'error');
  const isKnown = (field: string) =>
    error === undefined && examined.document !== undefined && errors.every(({ path }) => !concerns(path, field));
  const message = error?.message ?? unreadAt(examined.result, files[0]?.path ?? '');
  return { document, effective: effective ?? examined.config ?? defaultConfig(reader), unread: { message, isKnown } };
}

/** One file stays as it is, with its lines. Where files cannot be merged, the first one is all that is known. */
export function localText(files: LocalFile[], minor: Minor): { text: string; error?: DecodeError } {
  const [first] = files;
  if (files.length === 1 && first?.dropIn !== true) return { text: first!.text };
  try {
    return { text: encode(mergeLocal({ minor, local: files }).config) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { text: first === undefined || first.dropIn === true ? emptyDocument : first.text, error };
  }
}

/** `/etc/kubelet.yaml, line 4, column 7: exceeded max depth`: the first place that cannot be read. */
export function unreadAt({ findings, message }: CheckResult, file: string): string {
  const first = findings.find(({ severity, line }) => severity === 'error' && line !== undefined);
  return first === undefined ? message : `${placeOf(first, file)}: ${first.message}`;
}

const placeOf = ({ file, line, column }: Finding, ofText: string): string =>
  `${file ?? ofText}, line ${line}, column ${column}`;

/** The error is about the field, about something around it, or about the whole document. */
function concerns(path: string, field: string): boolean {
  for (let around = field; ; around = parentPath(around)) {
    if (around === path) return true;
    if (around === '') return false;
  }
}
