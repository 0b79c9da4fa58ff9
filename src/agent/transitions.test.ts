/** Transitions of the node state: what each of them leaves on disk, and the error of one that cannot be written. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../test/temporary-dir.js';
import type { ExactRef } from '../api/config-ref.js';
import { createLog, silentLog } from '../log.js';
import { systemProcesses } from '../proc.js';
import { previousConfigRecord, type Rank } from './candidates.js';
import { type Choice, FailedBefore } from './choose.js';
import { childRecord } from './drivers/child.js';
import { signingRecord } from './signing-record.js';
import { openDirectory } from './state/directory.js';
import type { NodeState } from './state/node-state.js';
import {
  assign,
  checkpoint,
  failTrial,
  garbageCollect,
  isAnotherAssignment,
  keepAsLastKnownGood,
  passTrial,
  recordsAfterAssign,
  retry,
} from './transitions.js';
import { type Failure, type Result, resultOf, setResult, trialRecord } from './trial/trial.js';

const ref = (name: string): ExactRef => ({
  namespace: 'ns',
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  kubeletConfigKey: 'kubelet',
});
const [a, b, c] = [ref('a'), ref('b'), ref('c')];
const payload = (text: string) => ({
  files: new Map([['kubelet', Buffer.from(text)]]),
  annotations: {},
  binaryKeys: [],
});
const resolved = (source: ExactRef, text = source.name) => ({ source, payload: payload(text) }) as never;

function newState(): NodeState {
  const { state } = openDirectory({ dir: join(temporaryDir(), 'dir'), host: systemProcesses, log: silentLog });
  for (const source of [a, b, c]) state.checkpoints.save(source, payload(source.name));
  return state;
}
const diskFull = () => {
  throw new Error('disk full');
};
const choiceOf = (source: ExactRef | undefined, rank: Rank = 'assigned') =>
  ({ rank, source, document: { digest: 'd' }, key: 'key' }) as Choice;
const before = { nodeReady: true, apiAnswered: true, staticPods: true };
const trial = { key: 'key', deaths: 2, healthyMs: 7, before, bootId: 'boot' };
const records = (state: NodeState) => ({
  assigned: state.assigned(),
  good: state.lastKnownGood(),
  previous: state.read(previousConfigRecord),
});

describe('a checkpoint', () => {
  const fails = (state: NodeState, reason: string, text: string) =>
    expect(() => checkpoint(state, resolved(a, text))).toThrow(
      expect.objectContaining({ reason, about: { uid: 'uid-a' } }),
    );

  test('is saved once, and again where it was damaged, but on a host that requires signatures', () => {
    const state = newState();
    const saved = ['a', 'damaged'].map((text) => checkpoint(state, resolved(a, text)));
    expect([...saved, checkpoint(state, resolved(ref('new')))]).toEqual([false, true, true]);
    state.write(signingRecord, { floor: 0, accepted: [] });
    fails(state, 'CheckpointNotSaved', 'other bytes');
  });

  test('that cannot be read is another error than one that cannot be saved', () => {
    const state = newState();
    state.checkpoints.exists = diskFull;
    fails(state, 'CheckpointUnreadable', 'a');
  });
});

describe('an assignment', () => {
  test.each<[string, ExactRef | undefined, ExactRef | undefined, ExactRef | undefined]>([
    ['keeps what it replaces, which never passed its trial', b, c, c],
    ['keeps the previous config where it replaces the last known good', b, a, b],
    ['keeps the last known good too where it is a reset', undefined, a, a],
    ['keeps the previous config where it replaces local', b, undefined, b],
  ])('%s', (_name, source, replaces, previous) => {
    const state = newState();
    state.setLastKnownGood(a);
    state.write(previousConfigRecord, b);
    const expected = { assigned: { source }, lastKnownGood: { source: a }, previous };
    expect(recordsAfterAssign(state, source, replaces)).toEqual(expected);
    assign(state, source, replaces);
    expect(records(state)).toEqual({ assigned: { source }, good: { source: a }, previous });
  });

  test.each<[string, ExactRef | undefined, ExactRef | undefined, object]>([
    ['of a config', b, a, { reason: 'AssignmentNotSaved', about: { uid: 'uid-b' } }],
    ['of local, while a config runs', undefined, a, { reason: 'ResetNotSaved' }],
    ['of local, while local runs', undefined, undefined, { reason: 'DefaultNotSaved' }],
  ])('%s that cannot be written has an error of its own', (_name, source, replaces, error) => {
    const state = newState();
    state.assign = diskFull;
    expect(() => assign(state, source, replaces)).toThrow(
      expect.objectContaining({ ...error, cause: expect.objectContaining({ message: 'disk full' }) }),
    );
  });

  test.each<[string, ExactRef | undefined, boolean]>([
    ['the same', a, false],
    ['an edit in place', { ...a, resourceVersion: '2' }, false],
    ['another key', { ...a, kubeletConfigKey: 'other' }, true],
    ['a ConfigMap that was deleted and created again', { ...a, uid: 'new' }, true],
    ['a reset', undefined, true],
  ])('of %s: whether it is another one', (_name, source, expected) => {
    const state = newState();
    state.assign(a);
    expect(isAnotherAssignment(state, source)).toBe(expected);
  });
});

describe('a trial that is over', () => {
  test.each<[string, Choice, ExactRef | undefined, ExactRef | undefined, Result | undefined]>([
    ['makes the assigned config last known good', choiceOf(a), a, undefined, { kind: 'passed' }],
    ['of a fallback leaves the last known good', choiceOf(a, 'previous-config'), b, c, { kind: 'passed' }],
    ['of local as fallback needs no previous config', choiceOf(undefined, 'local'), b, undefined, undefined],
    ['of local that is assigned makes that last known good', choiceOf(undefined), undefined, undefined, undefined],
  ])('%s', (_name, choice, good, previous, result) => {
    const state = newState();
    state.setLastKnownGood(b);
    state.write(previousConfigRecord, c);
    state.write(trialRecord, trial);
    passTrial(state, choice);
    expect(records(state)).toMatchObject({ good: { source: good }, previous });
    expect([resultOf(state, 'key'), state.read(trialRecord)]).toEqual([result, undefined]);
  });

  test('passes also where the last known good cannot be written, which is logged', () => {
    const lines: string[] = [];
    const log = createLog({ format: 'text', level: 'debug', write: (line) => lines.push(line) });
    const state = newState();
    keepAsLastKnownGood(state, a, log);
    expect([state.lastKnownGood(), lines]).toEqual([{ source: a }, []]);
    state.setLastKnownGood = diskFull;
    keepAsLastKnownGood(state, b, log);
    expect(lines.join()).toMatch(/last known good cannot be written.*disk full/);
  });

  test.each<[string, Result | undefined, number]>([
    ['the first time', undefined, 1],
    ['the first time since it passed', { kind: 'passed' }, 1],
    ['the first time since it was validated', { kind: 'validated' }, 1],
    ['after a retry', { kind: 'validated', failures: 2 }, 3],
  ])('because it failed %s is counted, with the place and time', (_name, result, failures) => {
    const state = newState();
    state.write(trialRecord, trial);
    if (result) setResult(state, 'key', result);
    const environment = { binary: 'b', files: {} };
    failTrial(
      state,
      choiceOf(a),
      { kind: 'failed', reason: 'CrashLoop', cause: 'why' },
      { at: new Date(0), environment },
    );
    const expected = { kind: 'failed', reason: 'CrashLoop', cause: 'why', at: new Date(0).toISOString() };
    expect(resultOf(state, 'key')).toEqual({ ...expected, failures, environment });
    expect(state.read(trialRecord)).toBeUndefined();
  });

  test.each([
    [3, 3],
    [undefined, 1],
  ])('because it failed %s times may be retried: the next crash fails it again, with the count kept', (count, kept) => {
    const state = newState();
    const failure: Failure = {
      kind: 'failed',
      reason: 'CrashLoop',
      cause: 'why',
      at: '',
      ...(count && { failures: count }),
    };
    retry(state, new FailedBefore('key', failure), { key: 'key', deaths: 2, bootId: 'boot' });
    const without = { nodeReady: false, apiAnswered: false, staticPods: false };
    expect(state.read(trialRecord)).toEqual({ ...trial, healthyMs: 0, before: without, isRetry: true });
    expect(resultOf(state, 'key')).toEqual({ kind: 'validated', failures: kept });
  });
});

describe('garbage collection', () => {
  test('keeps what records name, what runs and what arrives', () => {
    const state = newState();
    const [arriving, running, free] = [ref('arriving'), ref('running'), ref('free')];
    for (const source of [arriving, running, free]) state.checkpoints.save(source, payload(source.name));
    const [document, unused] = [state.documents.save('started'), state.documents.save('unused')];
    state.assign(a);
    state.setLastKnownGood(b);
    state.write(previousConfigRecord, c);
    const converted = state.documents.pathOf(document);
    state.write(childRecord, { token: 't', bootId: 'boot', source: running, converted });
    garbageCollect(state, silentLog, arriving);
    const exist = [a, b, c, arriving, running, free].filter((source) => state.checkpoints.exists(source));
    expect(exist).toEqual([a, b, c, arriving, running]);
    expect([state.documents.read(document), state.documents.read(unused)]).toEqual(['started', undefined]);
  });

  test('that fails is logged, and fails nothing else', () => {
    const lines: string[] = [];
    const state = newState();
    state.garbageCollect = diskFull;
    garbageCollect(state, createLog({ format: 'text', level: 'debug', write: (line) => lines.push(line) }), undefined);
    expect(lines.join()).toMatch(/old checkpoints not deleted.*disk full/);
  });
});
