/** The last resort, and which choice must prove itself. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testDocuments } from '../../test/rig/node.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import type { ExactRef } from '../api/config-ref.js';
import { silentLog } from '../log.js';
import { systemProcesses } from '../proc.js';
import { previousConfigRecord, type Rank } from './candidates.js';
import { type Choice, choose, failuresOf, needsTrial } from './choose.js';
import { openDirectory } from './state/directory.js';
import type { NodeState } from './state/node-state.js';
import { failTrial } from './transitions.js';
import { retriesOnce } from './trial/retry.js';
import { resultsRecord, setResult, trialRecord } from './trial/trial.js';
import type { Validator } from './validate/validate.js';

const version = (resourceVersion: string): ExactRef => ({
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

function newMemory(): NodeState {
  const root = temporaryDir();
  const { state } = openDirectory({ dir: join(root, 'dir'), host: systemProcesses, log: silentLog });
  for (const [source, text] of bytes)
    state.checkpoints.save(source, {
      files: new Map([['kubelet', Buffer.from(text)]]),
      annotations: {},
      binaryKeys: [],
    });
  return state;
}

function choiceOf(state: NodeState, source: ExactRef | undefined, rank: Rank): Choice {
  const digest = source === undefined ? 'local' : state.checkpoints.load(source).digest;
  const accepted = { kind: 'accepted' as const, warnings: [], healthz: undefined, staticPodPath: undefined };
  return { rank, source, document: { file: '', text: '', digest }, key: digest, accepted, kubeletVersion: 'v1.32.1' };
}

const accepts: Validator = {
  validate: async () => ({ kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined }),
};

interface Question {
  validator?: Validator;
  flags?: string[];
  version?: string;
  binary?: string;
  files?: Record<string, string>;
  now?: number;
}

const chosen = (
  state: NodeState,
  { validator = accepts, flags = ['--v=2'], version = 'v1.32.1', binary = 'b', files = {}, now = 60_000 }: Question,
) =>
  choose(
    {
      state,
      documents: testDocuments(state),
      validator,
      commandLine: { args: () => flags },
      driver: { version: async () => version, fingerprint: () => binary },
      hostFiles: { contentOf: (path) => files[path] ?? 'ENOENT' },
      clock: { now: () => now },
      log: silentLog,
    },
    new AbortController().signal,
  );

test('a last known good that relet cannot read any more is not started: the node boots with local and reports why', async () => {
  const state = newMemory();
  state.assign(b);
  state.setLastKnownGood(a);
  const asked: (boolean | undefined)[] = [];
  const validator: Validator = {
    async validate({ checkpoint }, { isLastKnownGood }) {
      if (checkpoint === undefined)
        return { kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined };
      asked.push(isLastKnownGood);
      return { kind: 'rejected', reason: 'CannotBeChecked', cause: new Error('line 1, column 2'), warnings: [] };
    },
  };
  const choice = await chosen(state, { validator });
  expect(choice).toMatchObject({ source: undefined, isLastResort: true, error: { reason: 'CannotBeChecked' } });
  expect(asked).toEqual([false, true]);
});

test('local runs when everything is refused, local itself among it: the kubelet says what it dislikes', async () => {
  const state = newMemory();
  state.assign(a);
  const validator: Validator = {
    validate: async () => ({ kind: 'rejected', reason: 'ValidationFailed', cause: new Error('no'), warnings: [] }),
  };
  const choice = await chosen(state, { validator });
  expect(choice).toMatchObject({ rank: 'local', source: undefined, error: { reason: 'ValidationFailed' } });
  expect(choice).toMatchObject({ document: { file: undefined }, accepted: { healthz: undefined } });
});

const failAt = (state: NodeState, choice: Choice, at: number) =>
  failTrial(
    state,
    choice,
    { kind: 'failed', reason: 'CrashLoop', cause: 'crashed' },
    { at: new Date(at), environment: { binary: 'b', files: { '/crt': 'ENOENT' } } },
  );

describe('what failed its trial', () => {
  test('waits twice as long for its files after each failure, and a refusal of what changed counts as one', async () => {
    const state = newMemory();
    state.assign(a);
    const appeared = { files: { '/crt': 'c' } };
    failAt(state, await chosen(state, {}), 0);
    failAt(state, await chosen(state, { ...appeared, now: 60_000 }), 60_000);
    expect((await chosen(state, { ...appeared, now: 179_999 })).source).toBeUndefined();
    const refuses: Validator = {
      validate: async () => ({ kind: 'rejected', reason: 'ValidationFailed', cause: new Error('no'), warnings: [] }),
    };
    const refused = await chosen(state, { ...appeared, validator: refuses, now: 180_000 });
    expect(refused.error?.reason).toBe('ValidationFailed');
    expect((await chosen(state, { ...appeared, now: 10_000_000 })).source).toBeUndefined();
    expect((await chosen(state, { files: { '/crt': 'd' }, now: 419_999 })).source).toBeUndefined();
    expect((await chosen(state, { files: { '/crt': 'd' }, now: 420_000 })).source).toEqual(a);
  });

  test('is named as passed over also while a more trusted config runs', async () => {
    const state = newMemory();
    state.assign(a);
    failAt(state, await chosen(state, {}), 0);
    state.assign(b);
    state.setLastKnownGood(a);
    const choice = await chosen(state, {});
    expect(choice).toMatchObject({ source: b, passedOver: [{ source: a }] });
    expect(choice.error).toBeUndefined();
  });

  test.each([
    ['once more if it was last known good', true, undefined, true],
    ['not once more if it never was', false, undefined, false],
    ['not once more after that', true, true as const, false],
  ])('is started, when its fallback is healthy, %s', async (_name, wasGood, isRetry, again) => {
    const state = newMemory();
    state.assign(a);
    if (wasGood) state.setLastKnownGood(a);
    const choice = await chosen(state, {});
    const before = { nodeReady: false, apiAnswered: false, staticPods: false };
    if (isRetry) state.write(trialRecord, { key: choice.key, deaths: 2, healthyMs: 0, before, bootId: 'b', isRetry });
    failAt(state, choice, 0);
    expect(state.read(resultsRecord)?.[choice.key]).toMatchObject({
      kind: 'failed',
      ...(again && { retryOnce: true }),
    });
    const failures = failuresOf(await chosen(state, {}));
    expect(failures.some(({ failure }) => retriesOnce(failure, { tookLong: false }))).toBe(again);
  });

  test.each<[string, Question, ExactRef | undefined]>([
    ['is not tried again', {}, undefined],
    ['is tried with other flags', { flags: ['--v=3'] }, a],
    ['is tried with another kubelet', { version: 'v1.32.2' }, a],
    ['is tried with another build of the same version', { binary: 'another' }, a],
    ['is tried when a file that it names is there again', { files: { '/crt': 'c' } }, a],
    [
      'is not tried right after it failed, whatever happens to its files',
      { files: { '/crt': 'c' }, now: 59_999 },
      undefined,
    ],
  ])('%s', async (_name, question, expected) => {
    const state = newMemory();
    state.assign(a);
    failAt(state, await chosen(state, {}), 0);
    const { source, error } = await chosen(state, question);
    expect(source).toEqual(expected);
    expect(error?.reason).toBe(expected ? undefined : 'CrashLoop');
  });
});

describe('a trial', () => {
  test.each<[string, { source: ExactRef | undefined; rank?: Rank; good?: ExactRef; proven?: ExactRef }, boolean]>([
    ['is due for what was never tried', { source: a }, true],
    ['is over for what proved itself and is last known good', { source: a, good: a, proven: a }, false],
    ['is due for the same bytes under another name', { source: sameAsA, good: a, proven: a }, true],
    ['is due for what is last known good, but not for this kubelet', { source: a, good: a }, true],
    ['is due again for what proved itself once, before another did', { source: a, good: b, proven: a }, true],
    ['is due for local after a reset', { source: undefined, good: a, proven: a }, true],
    ['is not for local where nothing else was ever good', { source: undefined }, false],
    ['is not for local as the last resort', { source: undefined, rank: 'local', good: a, proven: a }, false],
  ])('%s', (_name, { source, rank = 'assigned', good, proven }, due) => {
    const state = newMemory();
    state.setLastKnownGood(good);
    if (proven) setResult(state, choiceOf(state, proven, rank).key, { kind: 'passed' });
    expect(needsTrial(choiceOf(state, source, rank), state)).toBe(due);
  });

  test('is due for local while a previous config is recorded', () => {
    const state = newMemory();
    state.write(previousConfigRecord, a);
    expect(needsTrial(choiceOf(state, undefined, 'assigned'), state)).toBe(true);
    expect(needsTrial(choiceOf(state, undefined, 'last-known-good'), state)).toBe(true);
  });

  test('is not for local where nothing else can run: it would fail again and again, with an event each time', () => {
    const state = newMemory();
    state.write(previousConfigRecord, a);
    expect(needsTrial({ ...choiceOf(state, undefined, 'assigned'), isLastResort: true }, state)).toBe(false);
  });
});
