/**
 * Compares how a real kubelet and relet merge the files of --config and --config-dir. The kubelet
 * stops after validation, because it cannot lock its lock file; its log has the config that it would run with. Needs only
 * a kubelet of 1.28 or later:
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.36 DROP_IN_RUNS=300 npx vitest run test/real-drop-ins.test.ts
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { check } from '../src/config/check.js';
import { decode } from '../src/config/decode.js';
import { complete } from '../src/config/decode-fields.js';
import { setDefaults } from '../src/config/defaults.js';
import { type Change, diffWhole } from '../src/config/diff.js';
import { header } from '../src/config/header.js';
import { type LocalConfig, type LocalFile, mergeLocal, mergeOverlay } from '../src/config/merge.js';
import type { KubeletConfig } from '../src/config/model.js';
import { encodeOverlay } from '../src/config/overlay.js';
import { type Shape, type StructShape, shapeOf } from '../src/config/shape.js';
import { asYaml } from '../src/go/yaml/write.js';
import { isObject } from '../src/json.js';
import { anyDropIn, anyLocal, isDeviation } from './drop-in-cases.js';

const kubelet = join(process.env.KUBEBUILDER_ASSETS ?? '', 'kubelet');
const isThere = process.env.KUBEBUILDER_ASSETS !== undefined && existsSync(kubelet);
const version = isThere ? execFileSync(kubelet, ['--version'], { encoding: 'utf8' }).trim() : '';
const minor = Number(/v1\.(\d+)/.exec(version)?.[1] ?? 0);
const runs = Number(process.env.DROP_IN_RUNS ?? 40);
const title =
  minor >= 28 ? version : 'a real kubelet (skipped: there is no kubelet of 1.28 or later in KUBEBUILDER_ASSETS)';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'relet-drop-ins-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const textOf = (config: KubeletConfig): string => asYaml({ ...header, ...config });

/** The config the kubelet would run with, by v1beta1 names; its error where it does not come that far. */
async function askKubelet(files: readonly LocalFile[]): Promise<KubeletConfig | string> {
  const place = await mkdtemp(join(dir, 'run-'));
  await mkdir(join(place, 'd'));
  for (const { path, text } of files) await writeFile(join(place, path), text);
  const args = [
    ...(files.some(({ dropIn }) => dropIn !== true) ? [`--config=${join(place, 'config.yaml')}`] : []),
    ...(files.some(({ dropIn }) => dropIn === true) ? [`--config-dir=${join(place, 'd')}`] : []),
    '--v=5',
    '--lock-file=/no-such-directory/lock',
    `--root-dir=${place}`,
    `--cert-dir=${join(dir, 'pki')}`,
    ...(minor >= 31 ? ['--fail-cgroupv1=false'] : []),
  ];
  const env = { ...process.env, KUBELET_CONFIG_DROPIN_DIR_ALPHA: 'yes' };
  const { stderr } = (await promisify(execFile)(kubelet, args, { env, maxBuffer: 2 ** 24 }).catch(
    (error: unknown) => error,
  )) as { stderr: string };
  await rm(place, { recursive: true, force: true });
  const error = /"command failed" err=(.*)/.exec(stderr)?.[1] ?? stderr;
  return error.includes('unable to acquire file lock') ? complete(loggedConfig(stderr), shapeOf(minor)) : error;
}

/** Since 1.37 as /configz has it. */
function loggedConfig(log: string): KubeletConfig {
  const [, internal] = /"KubeletConfiguration" configuration=<\n(.*?)\n >/s.exec(log) ?? [];
  const [, versioned] = /"Effective KubeletConfiguration" config=<\n(.*?)\n >/s.exec(log) ?? [];
  if (internal !== undefined) return external(JSON.parse(internal), shapeOf(minor));
  return decode(versioned!.replace(/^\t/gm, ''), { minor }).config;
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
  if (shape.kind === 'list' && Array.isArray(value))
    return value.map((item) =>
      shape.item.kind === 'struct' ? complete(external(item, shape.item), shape.item) : item,
    );
  return value;
}

/** Set by the flags above, or by the kubelet itself; v1beta1 has no field that can be nil where the internal one cannot. */
const notCompared = ['failCgroupV1', 'logging.verbosity', 'tlsCertFile', 'tlsPrivateKeyFile'];

const differences = (ours: KubeletConfig, theirs: KubeletConfig): Change[] =>
  diffWhole(setDefaults(ours, minor), theirs, minor).filter(({ path }) => !notCompared.includes(path));

const decoded = (text: string): KubeletConfig => decode(text, { minor, strict: false }).config;

const fileOf = (config: KubeletConfig | undefined): LocalFile[] =>
  config === undefined ? [] : [{ path: 'config.yaml', text: textOf(config) }];

/** Returns the difference between relet's merge of these files and the kubelet's; undefined if there is none. */
async function wrongLocal(files: readonly LocalFile[]): Promise<unknown> {
  const theirs = await askKubelet(files);
  let ours: LocalConfig;
  try {
    ours = mergeLocal({ minor, local: files });
  } catch (error) {
    return typeof theirs === 'string' ? undefined : { files, error };
  }
  if (typeof theirs === 'string') return check(ours.text, { minor }).message === '' ? { files, theirs } : undefined;
  // The last one has had its effect, or came too late for it, once evictionHard is filled in.
  const lost = [...ours.findings.map(({ path }) => path), 'mergeDefaultEvictionSettings'];
  const changes = differences(decoded(ours.text), theirs).filter(({ path }) => !lost.includes(path));
  return changes.length > 0 ? { files, changes } : undefined;
}

describe.skipIf(minor < 28)(`drop-ins of ${title}`, () => {
  test('the local config means what the kubelet makes of --config and --config-dir', async () => {
    const dropIns = fc.array(anyDropIn(minor), { minLength: 1, maxLength: 2 });
    for (const [local, texts] of fc.sample(fc.tuple(anyLocal(minor), dropIns), { numRuns: runs, seed: 1 })) {
      const added = texts.map((text, index) => ({ path: `d/${index}.conf`, text, dropIn: true }));
      expect(await wrongLocal([...fileOf(local), ...added])).toBeUndefined();
    }
  });

  test('a kubelet without --config has the defaults that relet takes for its local config', async () => {
    expect(await wrongLocal([])).toBeUndefined();
  });

  test('an overlay differs from a drop-in only where the documentation says so', async () => {
    let compared = 0;
    for (const [local, config = {}] of pairs(2)) {
      const files = fileOf(local);
      const theirs = await askKubelet([...files, { path: 'd/0.conf', text: textOf(config), dropIn: true }]);
      if (typeof theirs === 'string') continue;
      compared++;
      const { text } = mergeOverlay({ minor, local: files, overlay: encodeOverlay({ config, unset: [] }) });
      const changes = differences(decoded(text), theirs);
      const others = changes.filter((change) => !isDeviation(change, { minor, local: local ?? {}, config }));
      expect({ local, config, others }).toEqual({ local, config, others: [] });
    }
    expect(compared).toBeGreaterThan(runs / 2);
  });

  test('the kubelet reads a merged config as relet does', async () => {
    for (const [local, config = {}] of pairs(3)) {
      const { text } = mergeOverlay({ minor, local: fileOf(local), overlay: encodeOverlay({ config, unset: [] }) });
      const theirs = await askKubelet([{ path: 'config.yaml', text }]);
      if (typeof theirs === 'string') expect(check(text, { minor }).message).not.toBe('');
      else expect({ text, changes: differences(decoded(text), theirs) }).toEqual({ text, changes: [] });
    }
  });
});

const pairs = (seed: number) => fc.sample(fc.tuple(anyLocal(minor), anyLocal(minor)), { numRuns: runs, seed });
