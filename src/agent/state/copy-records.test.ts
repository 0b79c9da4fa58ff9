/** A node that moves between `relet kubelet` and `relet agent` keeps what it had. */
import { describe, expect, test } from 'vitest';
import type { ExactRef } from '../../api/config-ref.js';
import type { Files } from '../../atomic-file.js';
import { silentLog } from '../../log.js';
import { SimulatedDisk } from '../../rehearsal/simulation/disk.js';
import { Fence, fencedFiles } from '../../rehearsal/simulation/fence.js';
import { childRecord } from '../drivers/child.js';
import { holdRecord } from '../requests.js';
import { resultOf, setResult } from '../trial/trial.js';
import { copyRecords } from './copy-records.js';
import { NodeState } from './node-state.js';

const version = (resourceVersion: string): ExactRef => ({
  namespace: 'relet-system',
  name: 'config',
  uid: 'uid',
  resourceVersion,
  kubeletConfigKey: 'kubelet',
});
const [good, assigned] = [version('1'), version('2')];
const hold = { since: '2026-01-01T00:00:00Z', why: 'maintenance' };

function stateIn(dir: string, files: Files): NodeState {
  for (const path of [dir, `${dir}/meta`, `${dir}/checkpoints`]) if (!files.stat(path)) files.makeDir(path, 0o700);
  return new NodeState(dir, silentLog, files);
}

/** As `relet kubelet` leaves it, and an agent that has been started once. */
function setUp(files = new SimulatedDisk()) {
  const wrapper = stateIn('/wrapper', files);
  for (const source of [good, assigned])
    wrapper.checkpoints.save(source, {
      files: new Map([['kubelet', Buffer.from(`config ${source.resourceVersion}`)]]),
      annotations: {},
      binaryKeys: [],
    });
  const mergedDigest = wrapper.documents.save('merged');
  wrapper.setLastKnownGood({ ...good, mergedDigest });
  wrapper.assign(assigned);
  wrapper.write(holdRecord, hold);
  wrapper.write(childRecord, { token: 't', bootId: 'b' });
  setResult(wrapper, 'key', { kind: 'passed' });
  stateIn('/relet', files);
  return { files, mergedDigest };
}

function expectAll(files: Files, mergedDigest: string): void {
  const state = stateIn('/relet', files);
  expect(state.assigned()).toEqual({ source: assigned });
  expect(state.lastKnownGood()).toEqual({ source: { ...good, mergedDigest } });
  expect(state.checkpoints.load(assigned).config.toString()).toBe('config 2');
  expect(state.checkpoints.load(good).config.toString()).toBe('config 1');
  expect(state.documents.read(mergedDigest)).toBe('merged');
  expect(state.read(holdRecord)).toEqual(hold);
  expect(resultOf(state, 'key')).toEqual({ kind: 'passed' });
  expect(state.read(childRecord)).toBeUndefined();
}

describe('the records of another directory', () => {
  test('are taken over as they are, but for those of the process', () => {
    const { files, mergedDigest } = setUp();
    expect(copyRecords({ from: '/wrapper', to: '/relet', files })).toBe(true);
    expectAll(files, mergedDigest);
  });

  test('are taken over once: what was assigned later stays', () => {
    const { files } = setUp();
    copyRecords({ from: '/wrapper', to: '/relet', files });
    stateIn('/relet', files).assign(undefined);
    expect(copyRecords({ from: '/wrapper', to: '/relet', files })).toBe(false);
    expect(stateIn('/relet', files).assigned()).toEqual({ source: undefined });
  });

  test('do not replace other ones', () => {
    const { files } = setUp();
    const own = stateIn('/relet', files);
    own.assign(version('9'));
    expect(() => copyRecords({ from: '/wrapper', to: '/relet', files })).toThrow('has configs of its own');
    expect(own.assigned()).toEqual({ source: version('9') });
  });

  test('replace other ones when that is asked for, also those that were copied from there', () => {
    const { files, mergedDigest } = setUp();
    copyRecords({ from: '/wrapper', to: '/relet', files });
    stateIn('/relet', files).assign(version('9'));
    expect(copyRecords({ from: '/wrapper', to: '/relet', replace: true, files })).toBe(true);
    expectAll(files, mergedDigest);
  });

  test('must be there', () => {
    const { files } = setUp();
    expect(() => copyRecords({ from: '/nowhere', to: '/relet', files })).toThrow('/nowhere has no records of relet');
  });

  test('are complete after a crash anywhere and another start, and nothing is assigned before they are', () => {
    for (let steps = 0; ; steps++) {
      const { files, mergedDigest } = setUp();
      const fence = new Fence();
      fence.crashIn(steps);
      const failing = fencedFiles(files, fence);
      let isDone = true;
      try {
        copyRecords({ from: '/wrapper', to: '/relet', files: failing });
      } catch {
        isDone = false;
      }
      const between = stateIn('/relet', files);
      if ('source' in between.assigned() && JSON.stringify(between.assigned()) !== '{}') expectAll(files, mergedDigest);
      copyRecords({ from: '/wrapper', to: '/relet', files });
      expectAll(files, mergedDigest);
      if (isDone) {
        expect(steps).toBeGreaterThan(10);
        break;
      }
    }
  });
});
