/** Field policies in `relet config validate --policy`; a bundle of its own, as for overlays. */
import { readFileSync } from 'node:fs';
import type { FieldPolicy } from '../../api/field-policy.js';
import { CannotRun } from '../../cannot-run.js';
import { checkPolicy, type PolicyCheckOptions } from '../../config/check-policy.js';
import { decode } from '../../config/decode.js';
import type { Finding, Positions } from '../../config/model.js';
import { isOverlay, readOverlay } from '../../config/overlay.js';
import { readFieldPolicy } from '../../config/read-field-policy.js';
import { asLocalFiles, readLocalFiles } from './merge.js';

export interface PolicyFiles {
  findings(text: string, options: Omit<PolicyCheckOptions, 'local'>): Finding[];
}

/** `local`: the files of --local; without any, what the local config has is not known. */
export async function readPolicies(files: readonly string[], local: readonly string[]): Promise<PolicyFiles> {
  const policies = files.map((file) => ({ file, policy: readPolicy(file) }));
  const localFiles = local.length === 0 ? undefined : asLocalFiles(await readLocalFiles(local));
  return {
    findings: (text, options) =>
      policies.flatMap(({ file, policy }) =>
        checkPolicy(policy, text, { ...options, local: localFiles }).map(
          ({ field, message }): Finding => ({
            severity: 'error',
            source: 'relet',
            path: field,
            ...positionsIn(text, options.minor).get(field),
            message: `${message} (--policy ${file})`,
          }),
        ),
      ),
  };
}

function readPolicy(file: string): FieldPolicy {
  try {
    return readFieldPolicy(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new CannotRun(`--policy ${(error as Error).message.replace(/^field policy /, '')}`);
  }
}

/** Only of a document that could be decoded; no policy is checked for another one. */
const positionsIn = (text: string, minor: number): Positions =>
  isOverlay(text)
    ? readOverlay(text, { minor, strict: false }).positions
    : decode(text, { minor, strict: false }).positions;
