/** What a node remembers of its judge, and when it asks again. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { realFiles } from '../../atomic-file.js';
import { createLog } from '../../log.js';
import type { Checkpoint } from '../state/checkpoints.js';
import { JsonRecord } from '../state/json-record.js';
import type { Accepted, Judgement } from './judging.js';
import { type LastingJudgeOptions, lastingJudge, validatedRecord } from './lasting-judge.js';

const log = createLog({ format: 'text', write() {} });
const signal = new AbortController().signal;

const accepted: Accepted = {
  kind: 'accepted',
  warnings: ['a warning'],
  configFile: '/dir/checkpoints/uid/1/kubelet',
  healthz: { host: '127.0.0.1', port: 10248 },
  staticPodPath: undefined,
  grounds: { staticPodPath: '/manifests', hasStaticPods: false, providerID: 'cloud://1' },
};

const checkpoint = (digest = 'd', annotations: Record<string, string> = {}) =>
  ({ configFile: accepted.configFile, digest, annotations }) as Checkpoint;

/** A node that has judged once; then a new process on the same disk with whatever changed meanwhile. */
async function judgedOnce(answer: Judgement = accepted) {
  const meta = mkdtempSync(join(tmpdir(), 'relet-judged-'));
  onTestFinished(() => rmSync(meta, { recursive: true, force: true }));
  const process = (changed: Partial<LastingJudgeOptions> = {}) => {
    let loads = 0;
    const record = new JsonRecord(validatedRecord, { meta, files: realFiles, log });
    const judge = lastingJudge({
      record,
      circumstances: () => ['flags'],
      providerID: () => undefined,
      hasEntries: () => false,
      exists: () => true,
      load: async () => {
        loads++;
        return { judge: async () => answer };
      },
      ...changed,
    });
    return { judge, loads: () => loads };
  };
  const first = process();
  const candidate = { checkpoint: checkpoint(), kubeletVersion: 'v1.32.1' };
  expect(await first.judge.judge(candidate, { history: 'none', signal })).toBe(answer);
  return { candidate, again: process };
}

describe('a judgement', () => {
  test('that accepted is answered from disk by the next process, which loads no judge', async () => {
    const { candidate, again } = await judgedOnce();
    const { judge, loads } = again();
    expect(await judge.judge(candidate, { history: 'validated', signal })).toEqual(accepted);
    expect(await judge.judge(candidate, { history: 'passed', signal })).toEqual(accepted);
    expect(loads()).toBe(0);
  });

  test.each<[string, Partial<LastingJudgeOptions>]>([
    ['flags, local files or the machine', { circumstances: () => ['other flags'] }],
    ['whether there are static pods', { hasEntries: (dir) => dir === '/manifests' }],
    ['the identity of the machine', { providerID: () => 'cloud://2' }],
    ['the file to start with, which is gone', { exists: () => false }],
  ])('is asked for again after a change of %s', async (_what, changed) => {
    const { candidate, again } = await judgedOnce();
    const { judge, loads } = again(changed);
    await judge.judge(candidate, { history: 'validated', signal });
    expect(loads()).toBe(1);
  });

  test.each([
    ['other bytes', { checkpoint: checkpoint('e'), kubeletVersion: 'v1.32.1' }],
    [
      'an annotation',
      { checkpoint: checkpoint('d', { 'relet.dev/skip-forecast': 'true' }), kubeletVersion: 'v1.32.1' },
    ],
    ['another kubelet', { checkpoint: checkpoint(), kubeletVersion: 'v1.33.0' }],
    ['the local config', { checkpoint: undefined, kubeletVersion: 'v1.32.1' }],
  ])('does not answer for %s', async (_what, candidate) => {
    const { again } = await judgedOnce();
    const { judge, loads } = again();
    await judge.judge(candidate, { history: 'validated', signal });
    expect(loads()).toBe(1);
  });

  test('holds while the identity of the machine is not known yet, and once it is known to be the same', async () => {
    const { candidate, again } = await judgedOnce();
    for (const providerID of [undefined, 'cloud://1']) {
      const { judge, loads } = again({ providerID: () => providerID });
      await judge.judge(candidate, { history: 'validated', signal });
      expect(loads()).toBe(0);
    }
  });

  test('is asked for whole when nothing was accepted before, whatever the disk says', async () => {
    const { candidate, again } = await judgedOnce();
    const { judge, loads } = again();
    await judge.judge(candidate, { history: 'none', signal });
    expect(loads()).toBe(1);
  });

  test('that refused is not remembered', async () => {
    const refusal: Judgement = { kind: 'refused', reason: 'ValidationFailed', cause: new Error('no'), warnings: [] };
    const { candidate, again } = await judgedOnce(refusal);
    const { judge, loads } = again();
    expect(await judge.judge(candidate, { history: 'validated', signal })).toBe(refusal);
    expect(loads()).toBe(1);
  });

  test('is one of a few that are kept', async () => {
    const { candidate, again } = await judgedOnce();
    const { judge } = again();
    for (let i = 0; i < 20; i++)
      await judge.judge({ ...candidate, checkpoint: checkpoint(`digest-${i}`) }, { history: 'none', signal });
    const later = again();
    await later.judge.judge({ ...candidate, checkpoint: checkpoint('digest-19') }, { history: 'validated', signal });
    expect(later.loads()).toBe(0);
    await later.judge.judge(candidate, { history: 'validated', signal });
    expect(later.loads()).toBe(1);
  });
});
