/**
 * A config in a file, its statement in FILE.statement, and the signatures in FILE.statement.sig, where ssh-keygen puts them too: a person
 * without relet signs with `ssh-keygen -Y sign -n relet.dev/kubelet-config -f KEY FILE.statement`.
 */
import { readFileSync, rmSync } from 'node:fs';
import { isMissing, replaceFile } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { whyUnreadable } from '../read-file.js';
import { type Signed, splitSignatures } from './statement.js';

export const statementFile = (file: string): string => `${file}.statement`;
export const signatureFile = (file: string): string => `${statementFile(file)}.sig`;

/** Undefined if the file has no statement. */
export function readSigned(file: string): Signed | undefined {
  const statement = textOf(statementFile(file));
  if (statement === undefined) return undefined;
  return { statement, signatures: splitSignatures(textOf(signatureFile(file)) ?? '') };
}

/** The signatures of an earlier statement go first: what is beside a statement is always of it, or missing. */
export function writeSigned(file: string, { statement, signatures }: Signed): void {
  try {
    if (textOf(statementFile(file)) !== statement) {
      rmSync(signatureFile(file), { force: true });
      replaceFile(statementFile(file), statement, { mode: 0o644 });
    }
    if (signatures.length > 0) replaceFile(signatureFile(file), signatures.join(''), { mode: 0o644 });
  } catch (error) {
    throw new CannotRun(`cannot write the signature beside ${file}: ${whyUnreadable(error)}`);
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new CannotRun(`cannot read ${path}: ${whyUnreadable(error)}`);
  }
}
