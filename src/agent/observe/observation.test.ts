/** Requests of analyses: lists of pods, the answer, and restarts in between. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import type { KubeObject } from '../../api/object.js';
import { type ObserveRequest, readObserved } from '../../api/observe.js';
import { rfc3339 } from '../../clock.js';
import { silentLog } from '../../log.js';
import { SimulatedDisk } from '../../rehearsal/simulation/disk.js';
import { seededRandom } from '../../rehearsal/simulation/seeded-random.js';
import type { Report } from '../report/report.js';
import { NodeState } from '../state/node-state.js';
import { Observation } from './observation.js';
import { cgroupRootIn, Sampler } from './sampler.js';
import { ownGroups } from './system-host.js';

const minute = 60_000;

function pod(name: string, restartedMs?: number): KubeObject {
  const terminated = { reason: 'OOMKilled', finishedAt: rfc3339(restartedMs ?? 0) };
  const containerStatuses = restartedMs === undefined ? [] : [{ restartCount: 1, lastState: { terminated } }];
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: rfc3339(0) };
  const status = { phase: 'Running', conditions: [ready], containerStatuses };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, uid: name }, status };
}

class Rig {
  readonly clock = new ManualClock();
  readonly startMs = this.clock.now();
  readonly disk = new SimulatedDisk();
  readonly lists: number[] = [];
  pods: KubeObject[] | undefined = [];
  upSeconds = 1e6;
  /** Growth of the pressure in each second, in microseconds. */
  pressure = 1000;
  observed: Report['observed'];
  #stop = new AbortController();
  observation: Observation | undefined;
  #total = 0;
  #totalAtMs = this.startMs;

  constructor() {
    for (const path of ['/d', '/d/meta']) this.disk.makeDir(path, 0o700);
    onTestFinished(() => this.#stop.abort());
  }

  /** A new agent on the same disk. */
  start(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.observed = undefined;
    const { clock } = this;
    const state = new NodeState('/d', silentLog, this.disk);
    const host = { read: (path: string) => this.#read(path), dirs: () => [] };
    const places = { mount: undefined, kubelet: [] };
    this.observation = new Observation({
      signals: new Sampler({ host, places, state, bootId: 'boot', clock }),
      view: () => ({
        pods: async () => {
          if (this.pods === undefined) throw new Error('no answer');
          this.lists.push(clock.now() - this.startMs);
          return this.pods;
        },
      }),
      state,
      reporter: {
        update: ({ observed }) => {
          this.observed = observed ?? this.observed;
        },
      },
      clock,
      random: seededRandom('agent'),
      log: silentLog,
    });
    void this.observation.run(() => '', this.#stop.signal);
  }

  #read(path: string): string | undefined {
    if (path === '/proc/uptime') return `${this.upSeconds} 1.00\n`;
    if (path !== '/proc/pressure/memory') return undefined;
    this.#total += ((this.clock.now() - this.#totalAtMs) / 1000) * this.pressure;
    this.#totalAtMs = this.clock.now();
    return `some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=${Math.round(this.#total)}\n`;
  }

  /** Both windows of ten minutes: the first begins at minute 1, the second at minute 13. */
  request(id = 'gpu/1/1/2'): ObserveRequest {
    const at = (minutes: number) => rfc3339(this.startMs + minutes * minute);
    return { id, before: [at(1), at(11)], after: [at(13), at(23)] };
  }

  async minutes(count: number): Promise<void> {
    for (let at = 0; at < count * 6; at++) await this.clock.advance(10_000);
  }
}

describe('an observation', () => {
  test('lists pods when the window begins and when it is over, and answers then', async () => {
    const rig = new Rig();
    rig.start();
    await rig.minutes(12);
    rig.pods = [pod('killed before', rig.startMs + 5 * minute), pod('a'), pod('b')];
    rig.observation?.requested(rig.request());
    rig.pressure = 3000;
    await rig.minutes(9);
    rig.pods = [
      pod('killed before', rig.startMs + 5 * minute),
      pod('a', rig.startMs + 12 * minute),
      pod('b', rig.clock.now()),
    ];
    expect(rig.observed).toBeUndefined();
    await rig.minutes(3);
    expect(rig.observed?.id).toBe('gpu/1/1/2');
    const [first, second] = rig.lists;
    expect(rig.lists).toHaveLength(2);
    expect(first! / minute).toBeCloseTo(13, 1);
    expect(second! / minute).toBeCloseTo(23, 0);
    expect(rig.observed?.signals).toMatchObject({
      oomKills: [1, 2],
      restarts: [1, 2],
      evictions: [0, 0],
      lostReady: [0, 0],
    });
    const [before, after] = rig.observed!.signals.memoryPressure!;
    expect(before).toBeCloseTo(0.001);
    expect(after).toBeCloseTo(0.003);
    expect(rig.observed?.signals.podStartSeconds).toBeUndefined();
    expect(readObserved(rig.observed)).toEqual(rig.observed);
    expect(JSON.stringify(rig.observed).length).toBeLessThan(1024);
    await rig.minutes(10);
    expect(rig.lists).toHaveLength(2);
  });

  test('continues after a restart of the agent, and an answer is reported again but not measured again', async () => {
    const rig = new Rig();
    rig.start();
    await rig.minutes(12);
    rig.observation?.requested(rig.request());
    await rig.minutes(4);
    expect(rig.lists).toHaveLength(1);
    rig.start();
    rig.observation?.requested(rig.request());
    await rig.minutes(8);
    expect(rig.observed?.signals.memoryPressure).toBeDefined();
    expect(rig.lists).toHaveLength(2);
    const { observed } = rig;
    rig.start();
    rig.observation?.requested(rig.request());
    await rig.minutes(2);
    expect(rig.observed).toEqual(observed);
    expect(rig.lists).toHaveLength(2);
  });

  test('is made late where the API did not answer, without who was Ready at its beginning', async () => {
    const rig = new Rig();
    rig.start();
    await rig.minutes(12);
    rig.pods = undefined;
    rig.observation?.requested(rig.request());
    await rig.minutes(13);
    expect(rig.observed).toBeUndefined();
    rig.pods = [pod('a')];
    await rig.minutes(1);
    expect(rig.observed?.signals.restarts).toEqual([0, 0]);
    expect(rig.observed?.signals.lostReady).toBeUndefined();
  });

  test('is not made half an hour after its end, nor for a node without history or with a boot in between', async () => {
    const late = new Rig();
    late.start();
    await late.minutes(54);
    late.observation?.requested(late.request());
    await late.minutes(2);
    expect(late.observed).toBeUndefined();

    const young = new Rig();
    await young.minutes(12);
    young.start();
    young.observation?.requested(young.request());
    await young.minutes(12);
    expect(young.observed).toEqual({ id: 'gpu/1/1/2', signals: {}, unfit: 'NoHistory' });

    const booted = new Rig();
    booted.start();
    await booted.minutes(12);
    booted.upSeconds = 600;
    booted.observation?.requested(booted.request());
    await booted.minutes(12);
    expect(booted.observed?.unfit).toBe('Booted');
  });

  test('of a newer request replaces one that is under way', async () => {
    const rig = new Rig();
    rig.start();
    await rig.minutes(12);
    rig.observation?.requested(rig.request('old'));
    await rig.minutes(3);
    rig.observation?.requested(rig.request('new'));
    await rig.minutes(9);
    expect(rig.observed?.id).toBe('new');
  });
});

describe('the sampler', () => {
  test('keeps its history in memory while the disk is full', async () => {
    const rig = new Rig();
    rig.disk.create = () => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    rig.start();
    await rig.minutes(12);
    rig.observation?.requested(rig.request());
    await rig.minutes(12);
    expect(rig.observed?.signals.memoryPressure).toBeDefined();
  });

  test.each([
    ['', ''],
    ['--cgroup-root=/flag\ncgroupRoot: /file', '/flag'],
    ['--v=2\nkind: x\ncgroupRoot: /file\n', '/file'],
    ['{"cgroupRoot":"/json"}', '/json'],
    ['cgroupRoot: ""', ''],
  ])('finds the cgroup root in %j', (text, root) => {
    expect(cgroupRootIn(text)).toBe(root);
  });

  test('finds the own cgroup, and none at the top', () => {
    const groups = (text: string) => ownGroups({ read: () => text });
    expect(groups('0::/system.slice/relet.service\n')).toEqual(['/system.slice/relet.service']);
    expect(groups('5:memory:/system.slice/relet.service\n2:cpu,cpuacct:/x\n0::/y\n')).toEqual([
      '/system.slice/relet.service',
      '/y',
    ]);
    expect(groups('0::/\n')).toEqual([]);
  });
});
