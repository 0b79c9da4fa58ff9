/** Asks a kubelet binary about config files: it stops at its lock file, after validation, and its log has the config it would run with. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { parse } from 'yaml';
import { readProbe } from '../src/agent/validate/steps.js';
import type { KubeletConfig } from '../src/config/model.js';
import { type Shape, type StructShape, shapeOf } from '../src/config/shape.js';
import { isObject } from '../src/json.js';
import type { Kubelet } from './real-kubelet-rig.js';

export interface KubeletAnswer {
  /** The kubelet's error; undefined when it accepts. */
  rejection: string | undefined;
  /** By v1beta1 names, without what the kubelet leaves out; undefined where it logs none. */
  config: KubeletConfig | undefined;
}

/** A document that knows it could print what a kubelet prints there. */
const lockFile = `/dev/null/${randomUUID()}/lock`;

/** Half as expensive without a garbage collector and its threads: an answer takes 30 ms. */
const cheap = { GOGC: 'off', GOMAXPROCS: '1' };

/** A flag overrides the config, so relet needs the same one: older kubelets log their config only at this level. */
export const verbosity = (minor: number): string[] => (minor < 37 ? ['--v=5'] : []);

export async function askKubelet({ path, minor }: Kubelet, args: readonly string[]): Promise<KubeletAnswer> {
  const all = [...verbosity(minor), `--lock-file=${lockFile}`, ...args];
  const env = { ...process.env, ...cheap, KUBELET_CONFIG_DROPIN_DIR_ALPHA: 'yes' };
  const { output, code } = await new Promise<{ output: string; code: number | null }>((resolve) => {
    const child = execFile(path, all, { env, timeout: 600_000, maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve({ output: stdout + stderr, code: child.exitCode }),
    );
  });
  const answer = readProbe(output, code, lockFile);
  if (answer.kind === 'unknown') throw new Error(`${path} ${args.join(' ')}: ${answer.reason}: ${output.slice(-500)}`);
  if (answer.kind === 'rejected') return { rejection: answer.message, config: undefined };
  return { rejection: undefined, config: loggedConfig(output, shapeOf(minor)) };
}

/** Since 1.37 as /configz has it. */
function loggedConfig(log: string, shape: StructShape): KubeletConfig | undefined {
  const [, internal] = /"KubeletConfiguration" configuration=<\n(.*?)\n >/s.exec(log) ?? [];
  if (internal !== undefined) return external(JSON.parse(internal), shape);
  const [, versioned] = /"Effective KubeletConfiguration" config=<\n(.*?)\n >/s.exec(log) ?? [];
  return versioned && parse(versioned.replace(/^\t/gm, ''), { version: '1.1', intAsBigInt: true });
}

/** The internal object has Go's names and no pointers. */
function external(internal: KubeletConfig, shape: StructShape): KubeletConfig {
  const byFold = new Map(Object.entries(internal).map(([name, value]) => [name.toLowerCase(), value]));
  const found: KubeletConfig = {};
  for (const [name, child] of shape.fields) {
    const value = byFold.get(name === 'resolvConf' ? 'resolverconfig' : name.toLowerCase());
    if (value !== undefined) found[name] = externalValue(value, child);
  }
  return found;
}

function externalValue(value: unknown, shape: Shape): unknown {
  if (shape.kind === 'struct' && isObject(value)) return external(value, shape);
  if (shape.kind === 'list' && Array.isArray(value)) return value.map((item) => externalValue(item, shape.item));
  return value;
}
