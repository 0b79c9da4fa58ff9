/**
 * The part of validation that needs the tables of every kubelet version, so it is loaded only on a cache miss: the validator, wired to
 * this machine (kubelet binary, local files, static pods, cgroups), and the conversion of payloads that a kubelet cannot read itself.
 */
import { join } from 'node:path';
import type { FieldPolicy } from '../../api/field-policy.js';
import { decode } from '../../config/decode.js';
import { encode } from '../../config/encode.js';
import { defaultFieldPolicy } from '../../config/field-policy.js';
import { resolvePaths } from '../../config/host-paths.js';
import { type LocalFile, mergeLocal, mergeOverlay } from '../../config/merge.js';
import { getField, type Minor, newestMinor, parseMinor } from '../../config/model.js';
import { decodeOverlay, isOverlay } from '../../config/overlay.js';
import { overlayDropIn } from '../../config/overlay-drop-in.js';
import { asYaml } from '../../go/yaml/write.js';
import type { Random } from '../../random.js';
import type { HostFile, Ingredients, Made } from '../documents.js';
import type { RunCommand } from '../drivers/command.js';
import { embeddedDropIn, withDropIn } from '../embedded-drop-in.js';
import type { DividedCommandLine } from '../flags.js';
import type { HostFiles } from '../host-files.js';
import { factsOnHost } from './facts-on-host.js';
import { describeMachine, localFiles } from './host-facts.js';
import { createValidator, type Validator } from './validate.js';

export interface HostValidatorParts {
  commandLine: DividedCommandLine;
  /** The kubelet's executable and what leads to it. Undefined inside k3s, which has no kubelet binary. */
  command: string[] | undefined;
  /** Runs the kubelet's binary. */
  run: RunCommand;
  hostFiles: Pick<HostFiles, 'hasEntries'>;
  /** From --field-policy; undefined for the built-in policy. */
  policy: FieldPolicy | undefined;
  /** Node.spec.providerID as last seen. */
  providerID(): string | undefined;
  random: Pick<Random, 'uuid'>;
}

export function validatorOnHost(parts: HostValidatorParts): Validator {
  const { commandLine, command, run, hostFiles, policy, random } = parts;
  const { initConfigDir, forecast } = commandLine.options;
  return createValidator({
    commandLine,
    probe: {
      none:
        command === undefined
          ? 'the kubelet was not asked: it is a part of k3s; relet validated the config'
          : undefined,
      async run(args, timeoutMs) {
        const { code, stdout, stderr } = await run([...(command ?? []), ...args], timeoutMs);
        return { code, output: stdout + stderr, timedOut: code === null };
      },
      uuid: random.uuid,
    },
    host: async ({ document }, { steps }) => {
      const flags = commandLine.kubelet.flatMap(({ words }) => words);
      const facts =
        steps === 'no-probe-no-forecast' ? {} : await factsOnHost(run, [document.text, ...flags].join('\n'));
      return { ...describeMachine(), ...facts };
    },
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

/** Throws for an overlay that cannot be decoded or merged. Any other document that cannot be read stays as it is: the kubelet says why. */
export function makeDocument({ text, file, kubeletVersion, local, dropInDir }: Ingredients): Made {
  const minor = parseMinor(kubeletVersion) ?? newestMinor;
  if (dropInDir !== undefined) return { kind: 'merged', text: withDropInOf(text, { file, minor, local, dropInDir }) };
  if (isOverlay(text)) {
    const { text: merged } = mergeOverlay({ minor, local: asText(local), overlay: text, overlayFile: file });
    return { kind: 'merged', text: merged };
  }
  const alpha = decodeAlpha(text, file, minor);
  if (alpha === undefined) return { kind: 'as is' };
  // The copy is in another directory.
  resolvePaths(alpha, file, minor);
  return { kind: 'converted', text: encode(alpha) };
}

/**
 * The config as an embedded kubelet has it in the end: it merges the overlay itself, as the last of its drop-ins. k3s writes the
 * others at each of its starts, and nothing of them is in the overlay's.
 */
function withDropInOf(
  text: string,
  { file, minor, local, dropInDir }: Pick<Ingredients, 'file' | 'local'> & { minor: Minor; dropInDir: string },
): string {
  if (!isOverlay(text))
    throw new Error(
      "k3s and RKE2 give their kubelet a config of their own, and take an overlay over it: this is a whole config, which 'relet convert' turns into an overlay",
    );
  const dropIn = asYaml(overlayDropIn(decodeOverlay(text, { minor, file }).overlay));
  const last = { path: join(dropInDir, embeddedDropIn), text: dropIn, dropIn: true };
  return withDropIn(mergeLocal({ minor, local: [...asText(local), last] }).text, dropIn);
}

function asText(files: readonly HostFile[]): LocalFile[] {
  return files.map(({ data, ...file }) => ({ ...file, text: Buffer.from(data).toString('utf8') }));
}

function decodeAlpha(text: string, file: string, minor: number) {
  try {
    const { isAlpha, config } = decode(text, { minor, file, strict: false });
    return isAlpha ? structuredClone(config) : undefined;
  } catch {
    return undefined;
  }
}
