/** The last resort, and which choice must prove itself. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testDocuments } from '../../test/rig/node.js';
import { temporaryDir } from '../../test/temporary-dir.js';
import { ConfigError } from '../api/config-error.js';
import type { ExactRef } from '../api/config-ref.js';
import { createLog, type Log, silentLog } from '../log.js';
import { systemProcesses } from '../proc.js';
import { candidates, fallbackOf, previousConfigRecord, type Rank, recordsOf } from './candidates.js';
import { type Choice, type ChooseOptions, choose, FailedBefore, failuresOf, needsTrial } from './choose.js';
import { openDirectory } from './state/directory.js';
import type { NodeState } from './state/node-state.js';
import { failTrial } from './transitions.js';
import { retriesOnce } from './trial/retry.js';
import { type Result, resultsRecord, setResult, trialRecord } from './trial/trial.js';
import type { Validator } from './validate/validate.js';

const version = (resourceVersion: string): ExactRef => ({
  namespace: 'ns',
  name: 'n',
  uid: 'uid',
  resourceVersion,
  kubeletConfigKey: 'kubelet',
});
const [a, b, sameAsA, c, unsaved] = [version('1'), version('2'), version('3'), version('4'), version('5')];
const bytes = new Map([
  [a, 'a'],
  [b, 'b'],
  [sameAsA, 'a'],
  [c, 'c'],
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
  log?: Log;
  options?: ChooseOptions;
}

const chosen = (
  state: NodeState,
  { validator = accepts, flags = ['--v=2'], version = 'v1.32.1', binary = 'b', files = {}, ...rest }: Question,
) =>
  choose(
    {
      state,
      documents: testDocuments(state),
      validator,
      commandLine: { args: () => flags },
      driver: { version: async () => version, fingerprint: () => binary },
      hostFiles: { contentOf: (path) => files[path] ?? 'ENOENT' },
      clock: { now: () => rest.now ?? 60_000 },
      log: rest.log ?? silentLog,
    },
    new AbortController().signal,
    rest.options,
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

/** Rejects these texts, with L for local. `asked` has each question: text, steps, role, and whether it is last known good. */
function rejecting(texts = '') {
  const asked: string[] = [];
  const validator: Validator = {
    async validate({ document }, { steps, role, isLastKnownGood }) {
      const text = document.text || 'L';
      asked.push(`${text} ${steps} ${role} ${isLastKnownGood}`);
      if (!texts.includes(text)) return { kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: '/pods' };
      return { kind: 'rejected', reason: 'ValidationFailed', cause: new Error('why'), warnings: [] };
    },
  };
  return { validator, asked };
}

type Source = ExactRef | undefined;
const broken = { broken: new Error('unreadable') };
const options = (assigned: Source | typeof broken, good?: Source, previous?: Source): ChooseOptions => {
  const recorded = assigned && 'broken' in assigned ? assigned : { source: assigned };
  return { assigned: recorded, lastKnownGood: { source: good }, previous };
};

describe('the order of trust', () => {
  test.each<[string, ChooseOptions, string, Rank, Source, Source[]]>([
    ['the assigned config', options(a, b), '', 'assigned', a, []],
    ['then the last known good', options(a, b, c), 'a', 'last-known-good', b, [a]],
    ['then the previous config', options(a, b, c), 'ab', 'previous-config', c, [a, b]],
    ['then local', options(a, b, c), 'abc', 'local', undefined, [a, b, c]],
    ['after a reset local', options(undefined, a, b), '', 'assigned', undefined, []],
    ['then the previous config', options(undefined, a, b), 'L', 'previous-config', b, [undefined]],
    ['then the last known good', options(undefined, a, b), 'Lb', 'last-known-good', a, [undefined, b]],
    ['then local all the same', options(undefined, a), 'La', 'assigned', undefined, [undefined, a]],
    ['the next for an unreadable record', options(broken, b), '', 'last-known-good', b, [undefined]],
    ['the next for a lost checkpoint', options(unsaved, b), '', 'last-known-good', b, [unsaved]],
    ['each config once', options(a, a, a), 'a', 'local', undefined, [a]],
  ])('%s', async (_name, records, texts, rank, source, passed) => {
    const choice = await chosen(newMemory(), { ...rejecting(texts), options: records });
    expect(choice).toMatchObject({ rank, source });
    expect((choice.passedOver ?? []).map((one) => one.source)).toEqual(passed);
    const isFirst = passed.length === 0;
    const reason = texts === '' ? 'LoadFailed' : 'ValidationFailed';
    expect(choice.error?.reason).toBe(isFirst ? undefined : reason);
    expect(choice.isLastResort).toBe(isFirst || source !== undefined ? undefined : true);
    expect(choice.accepted.staticPodPath).toBe(texts.includes('L') && source === undefined ? undefined : '/pods');
  });

  test('local alone is started whatever the validation of it, which runs no program', async () => {
    const { validator, asked } = rejecting('L');
    expect(await chosen(newMemory(), { validator })).toMatchObject({ rank: 'assigned', source: undefined });
    expect(asked).toEqual(['L no-probe-no-forecast undefined undefined']);
  });

  test('a config that cannot run is logged with its name and why', async () => {
    const lines: string[] = [];
    const log = createLog({ format: 'text', level: 'debug', write: (line) => lines.push(line) });
    await chosen(newMemory(), { ...rejecting('a'), log, options: { ...options(a), lastKnownGood: broken } });
    expect(lines[0]).toMatch(/config cannot run.*assigned.*uid.*rejects a value.*why/);
    expect(lines[1]).toMatch(/config cannot run.*last-known-good.*unreadable record/);
  });

  test('an overlay that is last known good is started with the document that passed its trial', async () => {
    const state = newMemory();
    const good = { ...a, mergedDigest: state.documents.save('merged') };
    const choice = await chosen(state, { ...rejecting('b'), options: options(b, good) });
    expect(choice).toMatchObject({ source: good, document: { text: 'merged' } });
  });

  test('a rollback returns to the most trusted one beside what failed, of which each is listed once', () => {
    const state = newMemory();
    state.assign(a);
    state.setLastKnownGood(a);
    state.write(previousConfigRecord, b);
    expect(candidates(recordsOf(state)).map(({ rank }) => rank)).toEqual(['assigned', 'previous-config']);
    expect(fallbackOf(state, a)).toEqual(b);
    const merged = { ...a, mergedDigest: '0'.repeat(64) };
    state.setLastKnownGood(merged);
    expect(fallbackOf(state, a)).toEqual(merged);
    state.lastKnownGood = () => broken;
    expect(fallbackOf(state, undefined)).toEqual(b);
  });
});

describe('validation', () => {
  const back = { rollbackFrom: 'v1.32.1' };
  test.each<[string, ChooseOptions, string | undefined, string, string, string | undefined]>([
    ['has all steps for a new config', {}, undefined, '', 'a all assigned false', 'validated'],
    ['has them for one that arrives', { isArriving: true }, undefined, '', 'a all arriving false', 'validated'],
    ['runs no kubelet for one that was validated', {}, 'validated', '', 'a no-probe assigned false', 'validated'],
    ['is short for one that passed its trial', {}, 'passed', '', 'a no-probe-no-forecast assigned false', 'passed'],
    ['has all steps for a fallback', {}, undefined, 'a', 'b all undefined true', 'validated'],
    ['is short for a fallback of a rollback', back, undefined, 'a', 'b no-probe-no-forecast undefined true', undefined],
    ['has all steps for what a rollback finds assigned', back, undefined, '', 'a all assigned false', 'validated'],
    [
      'records nothing while failures do not count',
      { ignoresFailures: true },
      'failed',
      '',
      'a all assigned false',
      'failed',
    ],
  ])('%s', async (_name, more, before, texts, last, after) => {
    const state = newMemory();
    state.assign(a);
    state.setLastKnownGood(b);
    const { key } = await chosen(state, {});
    const failure = { reason: 'CrashLoop', cause: 'crashed', at: '' };
    state.write(resultsRecord, before === undefined ? {} : { [key]: { ...failure, kind: before } as Result });
    const { validator, asked } = rejecting(texts);
    const choice = await chosen(state, { validator, options: more });
    expect([asked.at(-1), state.read(resultsRecord)?.[choice.key]?.kind]).toEqual([last, after]);
    expect(choice.passedOver?.length ?? 0).toBe(texts.length);
  });

  test.each([
    ['that cannot be followed is thrown', true, new ConfigError('ReferenceEmpty', 'x'), true],
    ['that cannot be followed passes over what is assigned', false, new ConfigError('ReferenceEmpty', 'x'), false],
    ['of the config passes it over', true, new ConfigError('ParseFailed', 'x'), false],
    ['of relet is thrown', false, new Error('bug'), true],
  ])('an error %s (arriving: %s)', async (_name, isArriving, error, isThrown) => {
    const validator: Validator = {
      validate: async ({ document }, rest) => {
        if (document.text === 'a') throw error;
        return rejecting().validator.validate({ document } as never, rest);
      },
    };
    const choice = chosen(newMemory(), { validator, options: { ...options(a, b), isArriving } });
    if (isThrown) await expect(choice).rejects.toBe(error);
    else expect(await choice).toMatchObject({ source: b, error });
  });
});

test('the error of a config that failed has its cause and time, and a reason also for a word of an earlier relet', () => {
  const failure = { kind: 'failed', cause: 'it crashed', at: '2026-06-05' } as const;
  const errors = ['crash-loop', 'unknown'].map((reason) => new FailedBefore('key', { ...failure, reason }));
  expect(errors.map(({ reason }) => reason)).toEqual(['CrashLoop', 'InternalError']);
  expect(errors[0]).toMatchObject({ key: 'key', cause: { message: 'it crashed (at 2026-06-05; not tried again)' } });
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
