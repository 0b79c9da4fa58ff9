/**
 * Validation on the hosts of a simulation: relet's own rules, as if the kubelet gave no answer. The result depends only on the input,
 * so it is cached for all nodes.
 */
import { divideCommandLine } from '../../agent/flags.js';
import { sha256 } from '../../agent/state/checkpoints.js';
import { createValidator, type ValidationResult, type Validator } from '../../agent/validate/validate.js';
import { defaultFieldPolicy } from '../../config/field-policy.js';

export const localPath = '/etc/kubelet.yaml';

export type ValidationMemo = Map<string, ValidationResult>;

/** Facts about the host on which validation depends, beside the config. */
export interface SimulatedHost {
  cpus: number;
  memoryBytes: number;
  hasStaticPods: boolean;
  /** Flags of its kubelet, beside --config. */
  flags: readonly string[];
}

export const usualHost: SimulatedHost = { cpus: 8, memoryBytes: 16 * 2 ** 30, hasStaticPods: false, flags: [] };

export const commandLineOf = ({ flags }: SimulatedHost) => divideCommandLine([`--config=${localPath}`, ...flags]);

/** `probe` is how long the kubelet takes before it gives no answer. */
export function simulatedValidator(
  localText: () => string,
  memo: ValidationMemo,
  probe: () => Promise<void>,
  host = usualHost,
): Validator {
  const { cpus, memoryBytes, hasStaticPods } = host;
  const hostText = JSON.stringify(host);
  const validator = createValidator({
    commandLine: commandLineOf(host),
    probe: { run: async () => ({ code: null, output: '', timedOut: true }), uuid: () => '' },
    host: { cgroupVersion: 2, cpus, memoryBytes },
    policy: defaultFieldPolicy,
    policyIsOurs: false,
    forecast: true,
    nodeFacts: async () => ({ hasStaticPods }),
    localFiles: () => [{ path: localPath, text: localText() }],
  });
  return {
    ...validator,
    async validate(candidate, options) {
      if (options.steps === 'all') await probe();
      const { checkpoint, document, kubeletVersion } = candidate;
      const config = checkpoint && [document.digest, checkpoint.annotations];
      const key = sha256(JSON.stringify([config ?? null, kubeletVersion, options.steps, localText(), hostText]));
      const known = memo.get(key) ?? (await validator.validate(candidate, options));
      memo.set(key, known);
      return known;
    },
  };
}
