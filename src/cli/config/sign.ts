/** `relet config sign FILE`: writes the statement beside a config, and a signature of it. Needs no cluster. */
import { CannotRun } from '../../cannot-run.js';
import { otherObject } from '../../config/overlay.js';
import { newConfigMap } from '../../fleet/config-maps.js';
import { oneLine } from '../../visible-text.js';
import { readSigned, signatureFile, statementFile, writeSigned } from '../sign/signed-file.js';
import { type SigningResult, type StatementOptions, sign, statementText } from '../sign/statement.js';
import { openTerminal, printError } from '../terminal/terminal.js';
import { readBytes } from './documents.js';

export interface SignOptions extends StatementOptions {
  keyFile?: string;
  /** Key in the ConfigMap. */
  key: string;
}

export async function signFile(file: string, { keyFile, key, ...options }: SignOptions): Promise<void> {
  if (file === '-') throw new CannotRun('the signature is written beside the file, so name a file');
  const bytes = readBytes(file);
  refuseOthers(bytes.toString('utf8'), file);
  const { data, binaryData } = newConfigMap({ name: 'signed', namespace: 'signed', key, bytes });
  const config = { data, binaryData, signed: readSigned(file) };
  const result = await sign(config, { ...options, key: keyFile }, { nowMs: Date.now() });
  writeSigned(file, result);
  openTerminal().print(signedText(file, result, keyFile === undefined));
  printDropped(result);
}

function refuseOthers(text: string, file: string): void {
  const other = otherObject(text);
  if (other === undefined) return;
  const way =
    other.kind === 'NodeConfigSet'
      ? `'relet rollout sign ${file}' signs the config of a set`
      : "put the config into a file of its own, and sign that; 'relet push FILE' makes the ConfigMap";
  throw new CannotRun(`${file} is a ${oneLine(other.kind)}, so nothing was signed: ${way}`);
}

function signedText(file: string, { facts, keys }: SigningResult, isPrepared: boolean): string {
  const about = statementText(facts);
  if (!isPrepared) return `${signatureFile(file)}: ${about}; signed by ${keys.join(', ')}`;
  return `${statementFile(file)}: ${about}; sign it with 'relet config sign ${file} -f KEY', or 'ssh-keygen -Y sign -n relet.dev/kubelet-config -f KEY ${statementFile(file)}'`;
}

/** The other persons have to know. */
export function printDropped({ dropped = 0 }: Pick<SigningResult, 'dropped'>): void {
  if (dropped === 0) return;
  printError(
    `relet: the statement is a new one, so ${dropped === 1 ? 'the earlier signature no longer counts' : `${dropped} earlier signatures no longer count`}`,
  );
}
