/** Reads the trust file of the host, which only root may have written. */
import { dirname } from 'node:path';
import { type Files, isTrustedUser } from '../../atomic-file.js';
import type { decideSignature } from '../../config/signing/decide.js';
import type { parseTrust, Trust } from '../../config/signing/trust.js';

/** Reads a trust file and verifies signatures. Hosts without a trust file do not load this code. */
export interface SignatureCode {
  parseTrust: typeof parseTrust;
  decideSignature: typeof decideSignature;
}

export interface TrustFile {
  trust: Trust;
  writtenMs: number;
  decide: SignatureCode['decideSignature'];
}

export interface TrustSource {
  /** For messages. */
  readonly path: string;
  /** Loads the code that read() needs, where there is a file. A file that appears later is seen by the next load(). Never rejects. */
  load(): Promise<void>;
  /** Undefined if there is no file. Throws an Error where it cannot be used. */
  read(): TrustFile | undefined;
}

export function trustFileOnHost(
  path: string,
  files: Pick<Files, 'read' | 'stat'>,
  loadCode: () => Promise<SignatureCode>,
): TrustSource {
  let code: SignatureCode | undefined;
  let failure: unknown;
  let known: { text: string; trust: Trust } | undefined;
  return {
    path,
    async load() {
      if (code !== undefined) return;
      try {
        if (files.stat(path) !== undefined) code = await loadCode();
        failure = undefined;
      } catch (error) {
        failure = error;
      }
    },
    read() {
      if (failure !== undefined) throw failure;
      const found = files.stat(path);
      if (found === undefined || code === undefined) return undefined;
      checkOwner(path, files);
      const text = files.read(path).toString('utf8');
      if (known?.text !== text) known = { text, trust: code.parseTrust(text, path) };
      return { trust: known.trust, writtenMs: found.mtimeMs, decide: code.decideSignature };
    },
  };
}

/** A user who may write the file, or put another one in its place, decides what the kubelet runs with. */
function checkOwner(path: string, files: Pick<Files, 'stat'>): void {
  for (let at = path; ; at = dirname(at)) {
    const { mode, uid, isSymbolic } = describe(at, files);
    const isSticky = at !== path && (mode & 0o1000) !== 0;
    if (isSymbolic) throw new Error(`${at} is a symbolic link: the trust file must be a regular file`);
    if (!isTrustedUser(uid)) throw new Error(`${at} belongs to user ${uid}: chown root ${at}`);
    if ((mode & 0o022) !== 0 && !isSticky) throw new Error(`${at} can be written by others: chmod go-w ${at}`);
    if (at === dirname(at)) return;
  }
}

function describe(path: string, files: Pick<Files, 'stat'>): { mode: number; uid: number; isSymbolic: boolean } {
  const found = files.stat(path);
  if (found === undefined) throw new Error(`${path} was removed while it was read`);
  return { mode: found.mode, uid: found.uid, isSymbolic: found.isSymbolicLink() };
}
