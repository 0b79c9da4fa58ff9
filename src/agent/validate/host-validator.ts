/** The validator with its parts from this machine: the kubelet binary, the local files, static pods, cgroups. */
import { join } from 'node:path';
import { applyMergePatch } from '../../api/merge-patch.js';
import { type Files, replaceFile } from '../../atomic-file.js';
import { decode } from '../../config/decode.js';
import { header } from '../../config/header.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';
import type { RunCommand } from '../drivers/command.js';
import type { DividedCommandLine } from '../flags.js';
import type { HostFiles } from '../host-files.js';
import { sha256 } from '../state/checkpoints.js';
import { defaultFieldPolicy, type FieldPolicy } from './field-policy.js';
import { describeMachine, localFiles } from './host-facts.js';
import { createValidator, type Validator } from './validate.js';

export interface HostValidatorParts {
  commandLine: DividedCommandLine;
  /** The kubelet's executable and what leads to it. */
  command: string[];
  /** Runs the kubelet's binary. */
  run: RunCommand;
  hostFiles: Pick<HostFiles, 'hasEntries'>;
  files: Files;
  /** Converted copies of DKC alpha payloads are kept here. */
  convertedDir: string;
  /** From --field-policy; undefined for the built-in policy. */
  policy: FieldPolicy | undefined;
  /** Node.spec.providerID as last seen. */
  providerID(): string | undefined;
}

export function validatorOnHost(parts: HostValidatorParts): Validator {
  const { commandLine, command, run, hostFiles, files, policy } = parts;
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
    nodeFacts(local) {
      const path = getField(local, 'staticPodPath');
      const providerID = parts.providerID();
      const hasStaticPods = typeof path === 'string' && path !== '' && hostFiles.hasEntries(path);
      return { hasStaticPods, ...(providerID !== undefined && { providerID }) };
    },
    localText: (minor) => localText(localFiles(commandLine.values, initConfigDir), minor),
    localFile: initConfigDir === undefined ? undefined : join(initConfigDir, 'kubelet'),
    writeConverted(document) {
      const text = `${JSON.stringify(document, null, 2)}\n`;
      const path = join(parts.convertedDir, `${sha256(text)}.json`);
      if (files.stat(parts.convertedDir) === undefined) files.makeDir(parts.convertedDir, 0o700);
      if (files.stat(path) === undefined) replaceFile(path, text, { files });
      return path;
    },
  });
}

/** One file stays as it is, with its lines; drop-ins are merged over it as the kubelet merges them. */
function localText(files: Map<string, Buffer>, minor: Minor): string {
  const texts = [...files.values()].map((data) => data.toString('utf8'));
  if (texts.length < 2) return texts[0] ?? '';
  const merged = texts
    .map((text): unknown => decode(text, { minor, strict: false }).config)
    .reduce(applyMergePatch, {}) as KubeletConfig;
  return JSON.stringify({ ...merged, ...header });
}
