/**
 * Compares how a real kubelet and relet merge the files of --config and --config-dir. The kubelet
 * stops after validation, because it cannot lock its lock file; its log has the config that it would run with. Needs only
 * a kubelet of 1.28 or later:
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.36 DROP_IN_RUNS=300 npx vitest run test/real-drop-ins.test.ts
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check } from '../src/config/check.js';
import { decode } from '../src/config/decode.js';
import { complete } from '../src/config/decode-fields.js';
import { setDefaults } from '../src/config/defaults.js';
import { type Change, diffWhole } from '../src/config/diff.js';
import { header } from '../src/config/header.js';
import { type LocalConfig, type LocalFile, mergeLocal, mergeOverlay } from '../src/config/merge.js';
import type { KubeletConfig } from '../src/config/model.js';
import { encodeOverlay } from '../src/config/overlay.js';
import { shapeOf } from '../src/config/shape.js';
import { asYaml } from '../src/go/yaml/write.js';
import { askKubelet } from './ask-kubelet.js';
import { anyDropIn, anyLocal, isDeviation } from './drop-in-cases.js';
import { kubeletBinary } from './real-kubelet-rig.js';
import { temporaryDir } from './temporary-dir.js';

const kubelet = kubeletBinary('KUBEBUILDER_ASSETS');
const { minor, version } = kubelet ?? { minor: 0, version: '' };
const runs = Number(process.env.DROP_IN_RUNS ?? 40);
const title =
  minor >= 28 ? version : 'a real kubelet (skipped: there is no kubelet of 1.28 or later in KUBEBUILDER_ASSETS)';

const dir = temporaryDir();

const textOf = (config: KubeletConfig): string => asYaml({ ...header, ...config });

/** The config the kubelet would run with, by v1beta1 names; its error where it does not come that far. */
async function ask(files: readonly LocalFile[]): Promise<KubeletConfig | string> {
  const place = await mkdtemp(join(dir, 'run-'));
  await mkdir(join(place, 'd'));
  for (const { path, text } of files) await writeFile(join(place, path), text);
  const { rejection, config } = await askKubelet(kubelet!, [
    ...(files.some(({ dropIn }) => dropIn !== true) ? [`--config=${join(place, 'config.yaml')}`] : []),
    ...(files.some(({ dropIn }) => dropIn === true) ? [`--config-dir=${join(place, 'd')}`] : []),
    `--root-dir=${place}`,
    `--cert-dir=${join(dir, 'pki')}`,
    ...(minor >= 31 ? ['--fail-cgroupv1=false'] : []),
  ]);
  await rm(place, { recursive: true, force: true });
  return rejection ?? complete(config!, shapeOf(minor));
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
  const theirs = await ask(files);
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
      const theirs = await ask([...files, { path: 'd/0.conf', text: textOf(config), dropIn: true }]);
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
      const theirs = await ask([{ path: 'config.yaml', text }]);
      if (typeof theirs === 'string') expect(check(text, { minor }).message).not.toBe('');
      else expect({ text, changes: differences(decoded(text), theirs) }).toEqual({ text, changes: [] });
    }
  });
});

const pairs = (seed: number) => fc.sample(fc.tuple(anyLocal(minor), anyLocal(minor)), { numRuns: runs, seed });
