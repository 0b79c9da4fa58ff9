/**
 * The validator with the tables of every kubelet version, as a separate bundle: loaded when a node validates, converts or merges a new
 * config.
 */
import {
  validatorOnHost as createOnHost,
  type HostValidatorParts,
  makeDocument,
} from '../../agent/validate/host-validator.js';
import type { Validator } from '../../agent/validate/validate.js';
import { readFieldPolicy } from '../../config/read-field-policy.js';

export { makeDocument, readFieldPolicy };

/** `policy` is the text and name of a --field-policy file. */
export function validatorOnHost({
  policy,
  ...parts
}: Omit<HostValidatorParts, 'policy'> & { policy: { text: string; file: string } | undefined }): Validator {
  return createOnHost({ ...parts, policy: policy && readFieldPolicy(policy.text, policy.file) });
}
