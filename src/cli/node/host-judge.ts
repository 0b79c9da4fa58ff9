/** The judge with all that relet knows of kubelet configs: a bundle of its own, loaded by a node when something new is to be judged. */

import type { Judge } from '../../agent/validate/judging.js';
import { judgeOnHost as createHostJudge, type HostJudgeParts } from '../../agent/validate/on-host.js';
import { readFieldPolicy } from '../../agent/validate/read-field-policy.js';

export { readFieldPolicy };

/** `policy` is the text and name of a --field-policy file. */
export function judgeOnHost({
  policy,
  ...parts
}: Omit<HostJudgeParts, 'policy'> & { policy: { text: string; file: string } | undefined }): Judge {
  return createHostJudge({ ...parts, policy: policy && readFieldPolicy(policy.text, policy.file) });
}
