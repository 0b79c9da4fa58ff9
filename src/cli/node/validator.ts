/** The validator and the documents of a node: known answers come from disk, and only a new question loads full-validator.ts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { Documents } from '../../agent/documents.js';
import type { RunCommand } from '../../agent/drivers/command.js';
import { type DividedCommandLine, kubeletArgs } from '../../agent/flags.js';
import type { HostFiles } from '../../agent/host-files.js';
import { sha256 } from '../../agent/state/checkpoints.js';
import type { NodeState } from '../../agent/state/node-state.js';
import { cached, validatedRecord } from '../../agent/validate/cache.js';
import { describeMachine, localFileOf, localFiles } from '../../agent/validate/host-facts.js';
import type { Validator } from '../../agent/validate/validate.js';
import { readNamedBy } from '../read-file.js';

export interface NodeValidatorParts {
  divided: DividedCommandLine;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  run: RunCommand;
  hostFiles: HostFiles;
  state: NodeState;
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
  { divided, command, run, hostFiles, state, providerID }: NodeValidatorParts,
  policy: PolicyFile,
): Validator {
  const { options, values } = divided;
  const machine = describeMachine();
  return cached({
    record: state.record(validatedRecord),
    circumstances: () => [
      pkg.version,
      kubeletArgs(divided, undefined),
      options.forecast,
      policy?.text,
      localFiles(values, options.initConfigDir).map(({ path, data }) => [path, sha256(data)]),
      machine,
    ],
    providerID,
    hasEntries: hostFiles.hasEntries,
    async load() {
      const { validatorOnHost } = await import('./full-validator.js');
      return validatorOnHost({ commandLine: divided, command, run, hostFiles, policy, providerID });
    },
  });
}

export function nodeDocuments({ options, values }: DividedCommandLine, state: NodeState): Documents {
  const { initConfigDir } = options;
  return new Documents({
    state,
    localFiles: () => localFiles(values, initConfigDir),
    localFile: initConfigDir && join(initConfigDir, 'kubelet'),
    async make(from) {
      const config = localFileOf(values, initConfigDir);
      if (config && from.local.every(({ dropIn }) => dropIn) && !existsSync(config)) throw missing(config);
      const { makeDocument } = await import('./full-validator.js');
      return makeDocument(from);
    },
    version: pkg.version,
  });
}

const missing = (config: string) =>
  new Error(`the local config ${config} is missing: an overlay has nothing to be merged into`);
