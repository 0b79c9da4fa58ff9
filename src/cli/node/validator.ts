/** The validator of a node: known results come from disk, and only a new question loads the full validator. */
import pkg from '../../../package.json' with { type: 'json' };
import type { RunCommand } from '../../agent/drivers/command.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import type { HostFiles } from '../../agent/host-files.js';
import { sha256 } from '../../agent/state/checkpoints.js';
import type { NodeState } from '../../agent/state/node-state.js';
import { cachedOnDisk, validatedRecord } from '../../agent/validate/cache.js';
import { describeMachine, localFiles } from '../../agent/validate/host-facts.js';
import type { Validator } from '../../agent/validate/validate.js';
import type { Files } from '../../atomic-file.js';
import { readNamedBy } from '../read-file.js';

export interface NodeValidatorParts {
  divided: DividedCommandLine;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  run: RunCommand;
  hostFiles: HostFiles;
  state: NodeState;
  files: Files;
  /** Node.spec.providerID as last seen. */
  providerID(): string | undefined;
}

export type PolicyFile = { text: string; file: string } | undefined;

/** A policy that cannot be read is reported at the start, not when it is needed. */
export async function readPolicyFile(file: string | undefined): Promise<PolicyFile> {
  if (file === undefined) return undefined;
  const text = readNamedBy('field-policy', file);
  const { readFieldPolicy } = await import('./full-validator.js');
  readFieldPolicy(text, file);
  return { text, file };
}

export function nodeValidator(
  { divided, command, run, hostFiles, state, files, providerID }: NodeValidatorParts,
  policy: PolicyFile,
): Validator {
  const { options, values } = divided;
  return cachedOnDisk({
    record: state.record(validatedRecord),
    circumstances: () => [
      pkg.version,
      kubeletArgs(divided, undefined),
      options.forecast,
      policy?.text,
      [...localFiles(values, options.initConfigDir)].map(([name, data]) => [name, sha256(data)]),
      describeMachine(),
    ],
    providerID,
    hasEntries: hostFiles.hasEntries,
    exists: (file) => files.stat(file) !== undefined,
    async load() {
      const { validatorOnHost } = await import('./full-validator.js');
      const { convertedDir } = state;
      return validatorOnHost({
        commandLine: divided,
        command,
        run,
        hostFiles,
        files,
        convertedDir,
        policy,
        providerID,
      });
    },
  });
}
