/**
 * Promise: kill -9 or power loss at any step leaves a node that starts with assigned, last known good or local, complete,
 * and says truly which. Every transition, every point between two file operations, with torn and reordered writes.
 */

import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { previousConfigRecord, recordsOf } from '../src/agent/candidates.js';
import { type Choice, type ChooseOptions, choose } from '../src/agent/choose.js';
import { childRecord } from '../src/agent/drivers/child.js';
import { handleRequest, holdRecord, requestRecord, takeRequest } from '../src/agent/requests.js';
import { requireSignatures, signingRecord } from '../src/agent/signing-record.js';
import { openDirectory } from '../src/agent/state/directory.js';
import { encodeSource, NodeState, sourceOf } from '../src/agent/state/node-state.js';
import * as transitions from '../src/agent/transitions.js';

import { forgetFailures, resultsRecord, trialRecord } from '../src/agent/trial/trial.js';
import { withSignatures } from '../src/agent/validate/signatures.js';
import type { Validator } from '../src/agent/validate/validate.js';
import { ConfigError } from '../src/api/config-error.js';
import { type ExactRef, sameConfig } from '../src/api/config-ref.js';
import { type Files, removeTree } from '../src/atomic-file.js';
import { systemClock } from '../src/clock.js';
import { parseTrust } from '../src/config/signing/trust.js';
import { silentLog } from '../src/log.js';
import { SimulatedDisk } from '../src/rehearsal/simulation/disk.js';
import { Fence, fencedFiles } from '../src/rehearsal/simulation/fence.js';
import { seededRandom } from '../src/rehearsal/simulation/seeded-random.js';
import { crashStates, entriesOf, fullAfter, recorded } from './rig/crash-disk.js';
import { testDocuments } from './rig/node.js';
import { signedAnnotations, testKey, trustSource } from './rig/signing.js';

/** Asked for every lock; /proc is slow. */
const host = { bootId: () => 'boot', identify: (pid: number) => ({ pid, startTime: '1' }) };
/** In memory. openDirectory follows the links of its path on the real disk, so the path exists there too. */
const dir = '/etc';

const version = (name: string): ExactRef => ({
  namespace: 'kube-system',
  name: 'config',
  uid: `uid-${name}`,
  resourceVersion: name,
  kubeletConfigKey: 'kubelet',
});
const [a, b, c] = [version('1'), version('2'), version('3')];
const over = version('4');
const overlay = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: 50}\n';
/** Fields of the local file. */
let local = 'eventBurst: 7';
const localFile = () => ({
  '/local': `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${local}\n`,
});
const bytes = (source: ExactRef) =>
  source.resourceVersion === over.resourceVersion
    ? overlay
    : `# the whole config ${source.resourceVersion}\n${'x'.repeat(100)}\n`;
const payload = (source: ExactRef) => ({
  files: new Map([
    ['kubelet', Buffer.from(bytes(source))],
    ['beside', Buffer.from('beside')],
  ]),
  annotations: signatures.get(source) ?? {},
  binaryKeys: [],
});
/** When configs arrive, and when a node is booted, in UTC seconds. */
const [arrival, later] = [1_000_000, 2_000_000];
/** Signed until long before the next boot; the floor of the second is the serial of the first. */
const [signed, signedNext] = [version('5'), version('6')];
const ann = testKey();
const signatures = new Map(
  [signed, signedNext].map((source, index) => {
    const data = { kubelet: bytes(source), beside: 'beside' };
    const about = { keys: [ann], serial: 101 + index, floor: 100 + index, notAfter: arrival + 1000 };
    return [source, signedAnnotations({ data }, about)];
  }),
);
const trust = parseTrust(`apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["ann ${ann.line}"]\n`, 'trust.yaml');
/** The host after something has happened to it: its clock is set back by years, or its trust file is gone. */
let trouble: 'clock' | 'trust file' | undefined;

/** Accepts all but c, so that refusals are walked too. */
const validator: Validator = {
  async validate({ checkpoint }) {
    if (checkpoint && checkpoint.source.resourceVersion === c.resourceVersion)
      return { kind: 'rejected', reason: 'ValidationFailed', cause: new Error('c is bad'), warnings: [] };
    return { kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined };
  },
};

const bootWith = (state: NodeState, options?: ChooseOptions): Promise<Choice> =>
  choose(
    {
      state,
      documents: testDocuments(state, localFile),
      validator: withSignatures(validator, {
        state,
        // The host has a trust file where its records say so.
        trustFile: trustSource(() =>
          state.read(signingRecord) && trouble !== 'trust file' ? { trust, writtenMs: 0 } : undefined,
        ),
        clock: { now: () => (trouble === 'clock' ? 0 : options?.isArriving ? arrival : later) * 1000 },
        log: silentLog,
      }),
      commandLine: { args: () => [] },
      driver: { version: async () => 'v1.32.1', fingerprint: () => '' },
      hostFiles: { contentOf: () => '' },
      clock: { now: () => 0 },
      log: silentLog,
    },
    new AbortController().signal,
    options,
  );

const save = (state: NodeState, source: ExactRef) =>
  transitions.checkpoint(state, { source, payload: payload(source) });
const choiceOf = (state: NodeState) => bootWith(state);

interface Transition {
  given(state: NodeState, disk: SimulatedDisk): Promise<void> | void;
  when(state: NodeState): Promise<void> | void;
  /** Which configs may run after a crash inside it; undefined is local. */
  mayRun: (ExactRef | undefined)[];
  /** Checks another promise after a crash anywhere inside it. */
  always?(state: NodeState): Promise<void> | void;
}

/** Should the first of them fail, one of these is there to run instead. */
const keeps =
  (...sources: ExactRef[]) =>
  (state: NodeState) => {
    const { assigned, previous, lastKnownGood } = recordsOf(state);
    const found = [sourceOf(assigned), previous, sourceOf(lastKnownGood)];
    expect(found.some((one) => one !== undefined && sources.some((source) => sameConfig(one, source, 'version')))).toBe(
      true,
    );
  };

/** A last known good that is an overlay names a document that is there, whole. */
const whole = (state: NodeState) => {
  const { mergedDigest } = sourceOf(state.lastKnownGood()) ?? {};
  if (mergedDigest !== undefined) expect(state.documents.read(mergedDigest)).toContain('maxPods: 50');
};

const running = (source: ExactRef) => (state: NodeState) => {
  save(state, source);
  state.assign(source);
};
const proven = (source: ExactRef) => async (state: NodeState) => {
  running(source)(state);
  transitions.passTrial(state, await choiceOf(state));
};

const arrives = (source: ExactRef) => async (state: NodeState) => {
  save(state, source);
  await bootWith(state, { ...recordsOf(state), assigned: { source }, isArriving: true });
  transitions.assign(state, source, undefined);
};
const provenOnSigningHost = async (state: NodeState) => {
  requireSignatures(state, arrival);
  await arrives(signed)(state);
  transitions.passTrial(state, await choiceOf(state));
};
/** The config that arrives cannot be decided about, and the node boots the one that it had. */
const troubled = (what: typeof trouble, reason: string): Transition => ({
  given(state) {
    trouble = undefined;
    return provenOnSigningHost(state);
  },
  async when(state) {
    trouble = what;
    await arrives(signedNext)(state).catch((error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.reason).toBe(reason);
    });
  },
  mayRun: [signed],
  always: (state) => expect(floorOf(state)).toBe(100),
});
const floorOf = (state: NodeState) => state.read(signingRecord)?.floor;

const all: Record<string, Transition> = {
  'a signed config arrives, passes its trial, and has expired by the next boot': {
    given: provenOnSigningHost,
    async when(state) {
      await arrives(signedNext)(state);
      transitions.passTrial(state, await choiceOf(state));
    },
    mayRun: [signed, signedNext],
    // Once it is last known good, the one before it is still accepted, and none before that.
    always: (state) =>
      expect(floorOf(state)).toBeGreaterThanOrEqual(
        sameConfig(sourceOf(state.lastKnownGood()), signedNext, 'version') ? 101 : 100,
      ),
  },
  'a signed config arrives after the clock was set back by years': troubled('clock', 'ClockNotTrusted'),
  'a signed config arrives after the trust file was removed': troubled('trust file', 'TrustFileUnusable'),
  'an unsigned config arrives on a host that requires signatures': {
    given: provenOnSigningHost,
    when: arrives(a),
    mayRun: [signed],
    always: (state) => expect(floorOf(state)).toBe(100),
  },
  'a host begins to require signatures': {
    given: proven(a),
    async when(state) {
      requireSignatures(state, arrival);
      await arrives(b)(state);
    },
    mayRun: [a, b],
    // Only where nothing was recorded yet, as before the trust file.
    always: async (state) => {
      if (floorOf(state) !== undefined) expect((await choiceOf(state)).source?.uid).toBe(a.uid);
    },
  },
  'the first start in an empty directory': {
    given: (_state, disk) => removeTree(dir, disk),
    when: () => {},
    mayRun: [undefined],
  },
  'the adoption of a real kubelet’s directory': {
    given(_state, disk) {
      const write = (name: string, data: string | Buffer) =>
        disk.create(join(dir, 'store', name), Buffer.from(data), 0o600);
      for (const name of ['meta', 'checkpoints']) removeTree(join(dir, name), disk);
      for (const name of ['', 'meta', 'checkpoints']) disk.makeDir(join(dir, 'store', name), 0o700);
      for (const source of [a, b]) {
        const path = join('checkpoints', source.uid);
        disk.makeDir(join(dir, 'store', path), 0o700);
        disk.makeDir(join(dir, 'store', path, source.resourceVersion), 0o700);
        for (const [name, data] of payload(source).files) write(join(path, source.resourceVersion, name), data);
      }
      write('meta/assigned', encodeSource(b));
      write('meta/last-known-good', encodeSource(a));
    },
    when: () => {},
    mayRun: [b],
  },
  'the first assignment': { given: () => {}, when: running(a), mayRun: [undefined, a] },
  'a change from one config to another': {
    given: proven(a),
    when(state) {
      save(state, b);
      forgetFailures(state);
      transitions.assign(state, b, a);
    },
    mayRun: [a, b],
  },
  'an assignment that is refused': {
    given: proven(a),
    when(state) {
      save(state, c);
      transitions.assign(state, c, a);
    },
    mayRun: [a],
  },
  'a passed trial': {
    async given(state) {
      await proven(a)(state);
      running(b)(state);
      state.write(trialRecord, {
        key: (await choiceOf(state)).key,
        deaths: 0,
        healthyMs: 600_000,
        bootId: '',
        before: { nodeReady: true, apiAnswered: true, staticPods: false },
      });
    },
    when: async (state) => transitions.passTrial(state, await choiceOf(state)),
    mayRun: [b],
    // Done, or the time it took is not lost.
    always: (state) =>
      expect(
        sameConfig(sourceOf(state.lastKnownGood()), b, 'version') || state.read(trialRecord)?.healthyMs === 600_000,
      ).toBe(true),
  },
  'a rollback': {
    async given(state) {
      await proven(a)(state);
      running(b)(state);
      state.write(trialRecord, {
        key: (await choiceOf(state)).key,
        deaths: 3,
        healthyMs: 0,
        bootId: '',
        before: { nodeReady: true, apiAnswered: true, staticPods: false },
      });
    },
    // Decided, or one crash away from it; never a trial that starts again.
    async always(state) {
      const isDecided = sameConfig((await choiceOf(state)).source, a, 'version');
      expect(isDecided || state.read(trialRecord)?.deaths === 3).toBe(true);
    },
    when: async (state) =>
      transitions.failTrial(
        state,
        await choiceOf(state),
        { kind: 'failed', reason: 'CrashLoop', cause: 'died' },
        { at: new Date(0), environment: { binary: '', files: {} } },
      ),
    mayRun: [b, a],
  },
  'a reset': { given: proven(a), when: (state) => transitions.assign(state, undefined, a), mayRun: [a, undefined] },
  'a reset of a config that is still on trial': {
    given: running(a),
    when: (state) => transitions.assign(state, undefined, a),
    mayRun: [a, undefined],
    always: keeps(a),
  },
  'a new config before a reset has ended': {
    given(state) {
      running(a)(state);
      transitions.assign(state, undefined, a);
    },
    when(state) {
      save(state, b);
      transitions.assign(state, b, undefined);
    },
    mayRun: [undefined, b],
    always: keeps(a, b),
  },
  'a release': {
    async given(state) {
      await proven(a)(state);
      handleRequest(state, { verb: 'hold', why: 'test' }, new Date(0));
    },
    when: (state) => handleRequest(state, { verb: 'release' }, new Date(0)),
    mayRun: [a],
  },
  'a request from the host, handled': {
    async given(state) {
      await proven(a)(state);
      state.write(requestRecord, { verb: 'hold', why: 'test' });
    },
    when: (state) => void takeRequest({ state, clock: systemClock, log: silentLog }),
    mayRun: [a],
    // The operator sees that the file is gone, and concludes that the request was taken.
    always: (state) => expect(state.read(requestRecord) ?? state.read(holdRecord)).toBeDefined(),
  },
  'the end of a reset': {
    async given(state) {
      await proven(a)(state);
      transitions.assign(state, undefined, a);
    },
    when: (state) => transitions.keepAsLastKnownGood(state, undefined, silentLog),
    mayRun: [undefined],
  },
  'a person’s use-local': {
    given: proven(a),
    when: (state) => handleRequest(state, { verb: 'use-local' }, new Date(0)),
    mayRun: [a, undefined],
    // Held before it is local: otherwise the next look at the API would assign it again.
    always: (state) =>
      expect(sourceOf(state.assigned()) !== undefined || state.read(holdRecord) !== undefined).toBe(true),
  },
  'the repair of a rotten checkpoint': {
    async given(state, disk) {
      await proven(a)(state);
      const path = join(dir, 'checkpoints', a.uid, a.resourceVersion, 'kubelet');
      disk.remove(path);
      disk.create(path, Buffer.from('rot'), 0o600);
    },
    when: (state) => void save(state, a),
    mayRun: [undefined, a],
  },
  'an overlay passes its trial': {
    given: running(over),
    async when(state) {
      transitions.passTrial(state, await choiceOf(state));
    },
    // A document that was never made cannot be made on a full disk.
    mayRun: [over, undefined],
    always: whole,
  },
  'an overlay is merged again after the local file changed, and passes its trial': {
    async given(state) {
      local = 'eventBurst: 7';
      await proven(over)(state);
    },
    async when(state) {
      local = 'eventBurst: 8';
      transitions.passTrial(state, await choiceOf(state));
      transitions.garbageCollect(state, silentLog, undefined);
    },
    mayRun: [over],
    always: whole,
  },
  'a whole config replaces an overlay': {
    given: proven(over),
    when: (state) => proven(a)(state),
    mayRun: [over, a],
    always: whole,
  },
  'the removal of old checkpoints': {
    async given(state) {
      await proven(a)(state);
      for (const old of ['7', '8', '9']) save(state, version(old));
    },
    when: (state) => transitions.garbageCollect(state, silentLog, undefined),
    mayRun: [a],
  },
  'the start and the end of a kubelet': {
    given: proven(a),
    when(state) {
      state.write(childRecord, { token: 't', bootId: 'b', source: a });
      state.write(childRecord, { token: 't', bootId: 'b', source: a, process: { pid: 4_194_305, startTime: '1' } });
      state.remove(childRecord);
    },
    mayRun: [a],
  },
};

const openOn = (files: Files) => openDirectory({ dir, host, log: silentLog, files }).state;

/** A disk on which everything up to here is safe. */
async function given({ given }: Transition): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await given(openOn(disk), disk);
  return disk.copy();
}

async function walk(transition: Transition): Promise<number> {
  const { when, mayRun, always } = transition;
  const before = await given(transition);
  const end = before.copy();
  const { files, operations } = recorded(end);
  await when(openOn(files));
  const after = new NodeState(dir, silentLog, end);
  const [goal, finished] = [records(after), durable(after)];
  let points = 0;
  for (const crash of crashStates(before, operations)) {
    const state = openOn(crash.disk);
    const choice = await bootWith(state);
    const context = `${crash.name}: ran ${choice.source?.resourceVersion ?? 'local'}`;
    expect(
      mayRun.some((source) => sameConfig(source, choice.source, 'version')),
      context,
    ).toBe(true);
    if (choice.source)
      expect(state.checkpoints.load(choice.source).config.toString(), context).toBe(bytes(choice.source));
    // Reported truly: when something else runs than what is assigned, there is an error, and not otherwise.
    const assigned = state.assigned();
    expect('broken' in assigned, context).toBe(false);
    expect(choice.error === undefined, context).toBe(sameConfig(sourceOf(assigned), choice.source, 'version'));
    expect(halves(crash.disk), context).toEqual([]);
    await always?.(state);
    // A completed step is durable: nothing that was written is lost, and nothing that was removed comes back.
    if (crash.complete) expect(durable(state), context).toEqual(finished);
    // Once more, and the end is the same as without the crash; and nothing half-made stays.
    await when(state);
    expect(records(state), context).toEqual(goal);
    transitions.garbageCollect(state, silentLog, undefined);
    expect(strays(crash.disk), context).toEqual([]);
    points++;
  }
  expect(points).toBeGreaterThan(operations.length);
  return points;
}

/** The disk fills up at every write in turn: what cannot be done is said, and afterwards the node boots as after a crash. */
async function fill(transition: Transition): Promise<number> {
  const { when, mayRun } = transition;
  for (let writes = 1; ; writes++) {
    const disk = await given(transition);
    // Nothing of relet's own is there yet, and a full disk does not let it be made: then it is local.
    const isFirst = disk.stat(join(dir, 'meta')) === undefined;
    let failure: unknown;
    try {
      await when(openOn(fullAfter(disk, writes)));
    } catch (error) {
      failure = error;
    }
    // While it is still full, and once there is room again.
    for (const isFull of [true, false]) {
      disk.isFull = isFull;
      const { source } = await bootWith(openOn(disk));
      const context = `full after ${writes} writes: ran ${source?.resourceVersion ?? 'local'}`;
      expect(
        [...mayRun, ...(isFirst ? [undefined] : [])].some((one) => sameConfig(one, source, 'version')),
        context,
      ).toBe(true);
    }
    const state = openOn(disk);
    expect('broken' in state.assigned()).toBe(false);
    transitions.garbageCollect(state, silentLog, undefined);
    expect(strays(disk)).toEqual([]);
    if (failure === undefined && writes > 30) return writes;
  }
}

const records = (state: NodeState) => ({ assigned: state.assigned(), lastKnownGood: state.lastKnownGood() });
/** All that must outlive a power cut. That a config was accepted is found out again by validating it. */
const durable = (state: NodeState) => ({
  ...records(state),
  trial: state.read(trialRecord),
  previousConfig: state.read(previousConfigRecord),
  hold: state.read(holdRecord)?.why,
  request: state.read(requestRecord),
  results: Object.entries(state.read(resultsRecord) ?? {}).filter(([, { kind }]) => kind !== 'validated'),
});
/** Checkpoints that lack one of their two files: under its own name a checkpoint is whole. */
const halves = (disk: SimulatedDisk) => {
  const root = join(dir, 'checkpoints');
  return disk
    .list(root)
    .flatMap((uid) => disk.list(join(root, uid)).map((version) => join(root, uid, version)))
    .filter((path) => !path.includes('tmp_') && disk.list(path).length !== 2);
};
const strays = (disk: SimulatedDisk) =>
  entriesOf(disk)
    .map(([path]) => path)
    .filter((path) => path.includes('tmp_') && !path.startsWith(join(dir, 'store')));

beforeEach(() => {
  trouble = undefined;
});

describe('a crash between any two file operations leaves a node that boots', () => {
  test.each(Object.entries(all))('%s', async (_name, transition) => {
    const points = await walk(transition);
    expect(points).toBeGreaterThan(5);
  });
});

describe('a disk that is full at any write leaves a node that boots', () => {
  test.each(Object.entries(all))('%s', async (_name, transition) => {
    expect(await fill(transition)).toBeGreaterThan(1);
  });
});

describe('kill -9 at any step, and a power failure once the next process has recorded the config', () => {
  test.each([
    ['a config', a],
    ['an overlay', over],
  ])('%s is there', async (_name, source) => {
    const assignOn = async (disk: SimulatedDisk, fence: Fence) => {
      const state = new NodeState('/node', silentLog, fencedFiles(disk, fence));
      state.sync();
      save(state, source);
      await bootWith(state);
      transitions.assign(state, source, undefined);
      await bootWith(state);
    };
    for (let halfSteps = 0, isWhole = false; !isWhole; halfSteps++)
      for (let loss = 0; loss < 6; loss++) {
        const disk = new SimulatedDisk();
        for (const dir of ['/node', '/node/meta', '/node/checkpoints']) disk.makeDir(dir, 0o700);
        for (const dir of ['/', '/node']) disk.sync(dir);
        const fence = new Fence();
        fence.crashIn(halfSteps);
        isWhole = await assignOn(disk, fence).then(
          () => !fence.isDown,
          () => false,
        );
        await assignOn(disk, new Fence());
        disk.losePower(seededRandom(`${halfSteps}-${loss}`));
        const state = new NodeState('/node', silentLog, disk);
        const where = `killed after ${halfSteps} half steps, power failure ${loss}`;
        expect(state.assigned(), where).toMatchObject({ source: { uid: source.uid } });
        expect((await bootWith(state)).source?.uid, where).toBe(source.uid);
      }
  });
});
