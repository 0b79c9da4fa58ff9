/** Which choice must prove itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../log.js';
import { type Choice, needsTrial, type Rank } from './choose.js';
import { openDirectory } from './disk/directory.js';
import type { Memory } from './disk/memory.js';
import { withVerdict } from './disk/verdicts.js';
import { createHost } from './host/host.js';
import type { ExactSource, SourceOrLocal } from './source.js';

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
