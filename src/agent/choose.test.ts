/** The last resort, and which choice must prove itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../log.js';
import { type Choice, choose, needsTrial, type Rank } from './choose.js';
import { openDirectory } from './disk/directory.js';
import type { Memory } from './disk/memory.js';
import { withVerdict } from './disk/verdicts.js';
import { createHost } from './host/host.js';
import type { Judge } from './judge/judging.js';
import type { ExactSource, SourceOrLocal } from './source.js';
import { fail } from './transitions.js';

const version = (resourceVersion: string): ExactSource => ({
  namespace: 'ns',
  name: 'n',
  uid: 'uid',
  resourceVersion,
  kubeletConfigKey: 'kubelet',
});
const [a, b, sameAsA] = [version('1'), version('2'), version('3')];
const bytes = new Map([
  [a, 'a'],
  [b, 'b'],
  [sameAsA, 'a'],
]);

function newMemory(): Memory {
  const root = mkdtempSync(join(tmpdir(), 'relet-choose-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const { memory } = openDirectory({ dir: join(root, 'dir'), host: createHost({}), log: silentLog });
  for (const [source, text] of bytes)
    memory.checkpoints.save(source, {
      files: new Map([['kubelet', Buffer.from(text)]]),
      annotations: {},
      binaryKeys: [],
    });
  return memory;
}

function choiceOf(memory: Memory, source: SourceOrLocal, rank: Rank): Choice {
  const digest = source === undefined ? 'local' : memory.checkpoints.load(source).digest;
  const accepted = { kind: 'accepted' as const, warnings: [], configFile: '', healthz: undefined };
  return { rank, source, digest, key: digest, accepted: { ...accepted, staticPodPath: undefined } };
}

const accepts: Judge = {
  judge: async ({ checkpoint }) => ({
    kind: 'accepted',
    warnings: [],
    configFile: checkpoint?.configFile,
    healthz: undefined,
    staticPodPath: undefined,
  }),
};

interface Question {
  judge?: Judge;
  flags?: string[];
  version?: string;
}

const chosen = (memory: Memory, { judge = accepts, flags = ['--v=2'], version = 'v1.32.1' }: Question) =>
  choose(
    {
      memory,
      judge,
      commandLine: { command: [], args: () => flags, localFiles: () => new Map() },
      kubeletVersion: async () => version,
      log: silentLog,
    },
    new AbortController().signal,
  );

test('local runs when everything is refused, local itself among it: the kubelet says what it dislikes', async () => {
  const memory = newMemory();
  memory.assign(a);
  const judge: Judge = {
    judge: async () => ({ kind: 'refused', reason: 'validate', cause: new Error('no'), warnings: [] }),
  };
  const choice = await chosen(memory, { judge });
  expect(choice).toMatchObject({ rank: 'local', source: undefined, fault: { reason: 'validate' } });
  expect(choice.accepted).toMatchObject({ configFile: undefined, healthz: undefined });
});

describe('what failed its trial', () => {
  test.each<[string, Question, SourceOrLocal]>([
    ['is not tried again', {}, undefined],
    ['is tried with other flags', { flags: ['--v=3'] }, a],
    ['is tried with another kubelet', { version: 'v1.32.2' }, a],
  ])('%s', async (_name, question, expected) => {
    const memory = newMemory();
    memory.assign(a);
    const failure = { kind: 'failed' as const, reason: 'crash-loop' as const, cause: 'died' };
    fail(memory, await chosen(memory, {}), failure, new Date(0));
    const { source, fault } = await chosen(memory, question);
    expect(source).toEqual(expected);
    expect(fault?.reason).toBe(expected ? undefined : 'crash-loop');
  });
});

describe('a trial', () => {
  test.each<[string, { source: SourceOrLocal; rank?: Rank; good?: ExactSource; proven?: ExactSource }, boolean]>([
    ['is due for what was never tried', { source: a }, true],
    ['is over for what proved itself and is last known good', { source: a, good: a, proven: a }, false],
    ['is over for the same bytes under another name', { source: sameAsA, good: a, proven: a }, false],
    ['is due for what is last known good, but not for this kubelet', { source: a, good: a }, true],
    ['is due again for what proved itself once, before another did', { source: a, good: b, proven: a }, true],
    ['is due for local after a reset', { source: undefined, good: a, proven: a }, true],
    ['is not for local where nothing else was ever good', { source: undefined }, false],
    ['is not for local as the last resort', { source: undefined, rank: 'local', good: a, proven: a }, false],
  ])('%s', (_name, { source, rank = 'assigned', good, proven }, due) => {
    const memory = newMemory();
    memory.setLastKnownGood(good);
    if (proven) memory.verdicts.write(withVerdict(undefined, choiceOf(memory, proven, rank).key, { kind: 'proven' }));
    expect(needsTrial(choiceOf(memory, source, rank), memory)).toBe(due);
  });

  test('is due for local while a way back is kept', () => {
    const memory = newMemory();
    memory.wayBack.write(a);
    expect(needsTrial(choiceOf(memory, undefined, 'assigned'), memory)).toBe(true);
  });
});
