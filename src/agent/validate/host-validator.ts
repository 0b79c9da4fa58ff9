/** The validator with its parts from this machine: the kubelet binary, the local files, static pods, cgroups. */

import type { FieldPolicy } from '../../api/field-policy.js';
import { defaultFieldPolicy } from '../../config/field-policy.js';
import { getField } from '../../config/model.js';
import type { RunCommand } from '../drivers/command.js';
import type { DividedCommandLine } from '../flags.js';
import type { HostFiles } from '../host-files.js';
import { describeMachine, localFiles } from './host-facts.js';
import { asText } from './make-document.js';
import { createValidator, type Validator } from './validate.js';

export interface HostValidatorParts {
  commandLine: DividedCommandLine;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  /** Runs the kubelet's binary. */
  run: RunCommand;
  hostFiles: Pick<HostFiles, 'hasEntries'>;
  /** From --field-policy; undefined for the built-in policy. */
  policy: FieldPolicy | undefined;
  /** Node.spec.providerID as last seen. */
  providerID(): string | undefined;
}

export function validatorOnHost(parts: HostValidatorParts): Validator {
  const { commandLine, command, run, hostFiles, policy } = parts;
  const { initConfigDir, forecast } = commandLine.options;
  return createValidator({
    commandLine,
    probe: {
      async run(args, timeoutMs) {
        const { code, stdout, stderr } = await run([...command, ...args], timeoutMs);
        return { code, output: stdout + stderr, timedOut: code === null };
      },
    },
    host: describeMachine(),
    policy: policy ?? defaultFieldPolicy,
    policyIsOurs: policy !== undefined,
    forecast,
    async nodeFacts(local) {
      const path = getField(local, 'staticPodPath');
      const providerID = parts.providerID();
      const hasStaticPods = typeof path === 'string' && path !== '' && (await hostFiles.hasEntries(path));
      return { hasStaticPods, ...(providerID !== undefined && { providerID }) };
    },
    localFiles: () => asText(localFiles(commandLine.values, initConfigDir)),
  });
}
