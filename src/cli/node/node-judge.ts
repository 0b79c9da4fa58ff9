/** The judge of a node: what is known is answered from disk, and only what is new loads the rest. */
import pkg from '../../../package.json' with { type: 'json' };
import type { RunCommand } from '../../agent/drivers/command.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import type { HostFiles } from '../../agent/host-files.js';
import { sha256 } from '../../agent/state/checkpoints.js';
import type { NodeState } from '../../agent/state/node-state.js';
import type { Judge } from '../../agent/validate/judging.js';
import { lastingJudge, validatedRecord } from '../../agent/validate/lasting-judge.js';
import { localFiles } from '../../agent/validate/local-config.js';
import { describeMachine } from '../../agent/validate/machine.js';
import type { Files } from '../../atomic-file.js';
import { readNamedBy } from '../read-file.js';

export interface NodeJudgeParts {
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

/** A policy that cannot be read is said at the start, and not when it is needed. */
export async function readPolicyFile(file: string | undefined): Promise<PolicyFile> {
  if (file === undefined) return undefined;
  const text = readNamedBy('field-policy', file);
  const { readFieldPolicy } = await import('./host-judge.js');
  readFieldPolicy(text, file);
  return { text, file };
}

export function nodeJudge(
  { divided, command, run, hostFiles, state, files, providerID }: NodeJudgeParts,
  policy: PolicyFile,
): Judge {
  const { options, values } = divided;
  return lastingJudge({
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
      const { judgeOnHost } = await import('./host-judge.js');
      const { convertedDir } = state;
      return judgeOnHost({ commandLine: divided, command, run, hostFiles, files, convertedDir, policy, providerID });
    },
  });
}
