/**
 * Generated documents, given to a real kubelet and to relet. relet reads the same or refuses: what it accepts the kubelet accepts, with
 * the same effective config. `npm run fuzz -- --kubelet PATH` runs this; FUZZ_DOCUMENTS is how many, PROPERTY_SEED which.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { check } from '../../src/config/check.js';
import type { Host, KubeletConfig } from '../../src/config/model.js';
import { isObject } from '../../src/json.js';
import { askKubelet, verbosity } from '../ask-kubelet.js';
import { kubeletAt, minutes } from '../real-kubelet-rig.js';
import { anyDocument } from './documents.js';

const kubelet = kubeletAt(process.env.FUZZ_KUBELET ?? '');
const count = Number(process.env.FUZZ_DOCUMENTS ?? 1000);
const seed = Number(process.env.PROPERTY_SEED ?? 1);
const dir = kubelet === undefined ? '' : mkdtempSync(join(tmpdir(), 'relet-fuzz-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The host matters to some rules. */
const host: Host = { cgroupVersion: existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1 };

type Outcome = 'same config' | 'both reject' | 'relet refuses' | Disagreement;
type Disagreement = 'accepted by relet only' | 'rejected by relet only' | 'another config' | 'another message';

async function compare(text: string, worker: number): Promise<[Outcome, string?]> {
  const file = join(dir, `kubelet-${worker}.yaml`);
  writeFileSync(file, text);
  const flags = [`--root-dir=${dir}`, `--cert-dir=${join(dir, 'pki')}`];
  if (kubelet!.minor >= 31) flags.push('--fail-cgroupv1=false');
  const theirs = await askKubelet(kubelet!, [`--config=${file}`, ...flags]);
  const ours = check(text, {
    minor: kubelet!.minor,
    flags: [...verbosity(kubelet!.minor), ...flags],
    lenient: true,
    file,
    host,
  });
  if (theirs.rejection !== undefined && ours.message === '') return ['accepted by relet only', theirs.rejection];
  if (theirs.rejection !== undefined)
    return comparable(theirs.rejection) === comparable(ours.message) || isOwn(ours)
      ? ['both reject']
      : ['another message', `${theirs.rejection}\nrelet: ${ours.message}`];
  if (ours.message !== '') return isOwn(ours) ? ['relet refuses'] : ['rejected by relet only', ours.message];
  const [want, got] = [shown(theirs.config ?? {}), shown(ours.effective!)];
  const isSame = theirs.config === undefined || want === got;
  return isSame ? ['same config'] : ['another config', firstDifference(want, got)];
}

/** relet cannot read what the kubelet reads. Control characters behind the first document are read by Go only up to a full buffer. */
const isOwn = ({ findings, message }: ReturnType<typeof check>): boolean =>
  findings.some(({ severity, source }) => severity === 'error' && source === 'relet') ||
  message.endsWith('control characters are not allowed');

/** The end of some messages depends on the build, or on the order of a map; relet prints no key, and may find another YAML error first. */
const comparable = (message: string): string =>
  message
    .replace(/(, path: &| in scheme ).*/s, '')
    .replace(/: (yaml: invalid map key: |unsupported map key of type: |yaml: line \d+: ).*/is, ': not YAML')
    .replace(/(panic: .* feature gate:).*/, '$1')
    .split(/[[\],\n ]+/)
    .sort()
    .join();

/** Without empty values, which the kubelet leaves out; the certificate is where --cert-dir says, which only relet shows. */
function shown(config: KubeletConfig): string {
  const { apiVersion: _, kind: __, tlsCertFile: ___, tlsPrivateKeyFile: ____, ...rest } = config;
  return JSON.stringify(plain(rest), null, 1) ?? '';
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => plain(item) ?? null);
  if (!isObject(value))
    return isEmpty(value)
      ? undefined
      : typeof value === 'bigint'
        ? String(value)
        : typeof value === 'number'
          ? String(value)
          : value;
  const entries = Object.entries(value).map(([key, inner]) => [key, plain(inner)] as const);
  const kept = entries.filter(([, inner]) => inner !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === false ||
  value === '0s' ||
  (Number(value) === 0 && typeof value !== 'string');

function firstDifference(want: string, got: string): string {
  const [wanted, found] = [want.split('\n'), got.split('\n')];
  const at = wanted.findIndex((line, index) => line !== found[index]);
  return `${wanted.slice(at, at + 2).join('')}, relet: ${found.slice(at, at + 2).join('')}`;
}

/** Leaves out lines, then words, as long as the outcome is the same. */
async function shortened(text: string, outcome: Outcome, worker: number): Promise<string> {
  let shortest = text;
  for (const piece of [/[^\n]*\n/g, /\S+\s*/g])
    for (const { 0: part } of shortest.matchAll(piece)) {
      const without = shortest.replace(part, () => '');
      if ((await compare(without, worker))[0] === outcome) shortest = without;
    }
  return shortest;
}

describe.skipIf(kubelet === undefined)(kubelet?.version ?? 'a real kubelet (skipped: no --kubelet)', () => {
  test('relet reads every document as the kubelet does, or refuses it', { timeout: 600 * minutes }, async () => {
    const documents = fc.sample(anyDocument(kubelet!.minor), { numRuns: count, seed });
    const outcomes = new Map<Outcome, number>();
    const found: { outcome: Outcome; about: string | undefined; text: string }[] = [];
    const work = documents.values();
    const compareAll = async (_: unknown, worker: number) => {
      for (const text of work) {
        const [outcome, about] = await compare(text, worker);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        const isWrong = !['same config', 'both reject', 'relet refuses'].includes(outcome);
        if (isWrong)
          found.push({
            outcome,
            about,
            text: outcome === 'another message' || text.length > 4000 ? text : await shortened(text, outcome, worker),
          });
      }
    };
    await Promise.all([1, 2].map(compareAll));
    console.info(`${kubelet!.version}, seed ${seed}: ${count} documents`, Object.fromEntries(outcomes));
    expect(found).toEqual([]);
  });
});
