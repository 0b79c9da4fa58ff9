/** Readings of recorded hosts. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CgroupPlaces, HostReader, type HostText } from './host-reading.js';

/** A recorded host: `--- PATH`, then the lines of that file. */
function recorded(name: string): Map<string, string> {
  const text = readFileSync(`test/fixtures/host-counters/${name}.txt`, 'utf8');
  const parts = text.split(/^--- /m).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]));
}

function hostOf(files: ReadonlyMap<string, string>): HostText {
  return {
    read: (path) => files.get(path),
    dirs: (path) => {
      const below = [...files.keys()].filter((file) => file.startsWith(`${path}/`));
      const names = below.map((file) => file.slice(path.length + 1).split('/')).filter((parts) => parts.length > 1);
      return [...new Set(names.map(([first]) => first!))];
    },
  };
}

const places: CgroupPlaces = {
  mount: '/sys/fs/cgroup',
  cgroupRoot: '',
  kubelet: ['/system.slice/k3s.service', '/system.slice/kubelet.service'],
};
const v1Places = { ...places, cgroupRoot: '/relet-observe' };
const podStat = '/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podaaaa.slice/cpu.stat';

describe('reading a host', () => {
  test('with cgroup v2 has all values, those of pods from kubepods.slice', () => {
    const reading = new HostReader(hostOf(recorded('cgroup-v2'))).read(places);
    expect(reading).toEqual({
      memoryFullUs: 500974,
      cpuSomeUs: 57606501,
      ioSomeUs: 0,
      periods: 0,
      throttled: 0,
      systemOomKills: 0,
      kubeletCpuUs: 4055070,
      kubeletBytes: 94208,
      runtimeCpuUs: 103645,
      runtimeBytes: 94208,
      runtimePeakBytes: 21123072,
      podTasks: 4,
      systemBytes: 385024,
      systemMemoryFullUs: 59970,
    });
  });

  test('with cgroup v1 takes the pressure of the machine, and cannot tell OOM kills and pressure of pods from others', () => {
    const reading = new HostReader(hostOf(recorded('cgroup-v1'))).read(v1Places);
    expect(reading).toEqual({
      memoryFullUs: 430,
      cpuSomeUs: 1195176174,
      ioSomeUs: 13329319,
      periods: 0,
      throttled: 0,
      kubeletCpuUs: 196629,
      kubeletBytes: 585728,
      runtimeCpuUs: 119846,
      runtimeBytes: 7143424,
      runtimePeakBytes: 32559104,
      podTasks: 6,
      systemBytes: 18509824,
    });
  });

  test('in a pod that does not see the cgroups of its host has the pressure of the machine only', () => {
    const reading = new HostReader(hostOf(recorded('cgroup-v2'))).read({ ...places, mount: undefined });
    expect(reading).toEqual({ memoryFullUs: 504507, cpuSomeUs: 57663434, ioSomeUs: 0 });
  });

  test('leaves out what is missing or unreadable, and never counts it as 0', () => {
    const files = recorded('cgroup-v2');
    for (const path of [...files.keys()]) if (/pressure|memory\.stat/.test(path)) files.delete(path);
    files.set('/proc/vmstat', 'oom_kill many\n');
    const reading = new HostReader(hostOf(files)).read(places);
    expect(Object.keys(reading).sort()).toEqual([
      'kubeletCpuUs',
      'periods',
      'podTasks',
      'runtimeCpuUs',
      'runtimePeakBytes',
      'throttled',
    ]);
    expect(new HostReader(hostOf(new Map())).read(places)).toEqual({});
  });

  test('finds pods below a root of their own as both cgroup drivers name them', () => {
    const find = (path: string, cgroupRoot: string) => {
      const files = new Map([
        ['/sys/fs/cgroup/cgroup.controllers', 'cpu'],
        [`/sys/fs/cgroup${path}/cpu.stat`, ''],
        [`/sys/fs/cgroup${path}/memory.pressure`, 'full avg10=0.00 avg60=0.00 avg300=0.00 total=7'],
      ]);
      return new HostReader(hostOf(files)).read({ ...places, cgroupRoot }).memoryFullUs;
    };
    expect(find('/kubepods', '/')).toBe(7);
    expect(find('/nodes/kubepods', '/nodes')).toBe(7);
    expect(find('/nodes.slice/nodes-gpu_1.slice/nodes-gpu_1-kubepods.slice', '/nodes/gpu-1')).toBe(7);
    expect(find('/other', '/nodes')).toBeUndefined();
  });
});

describe('throttling', () => {
  const stat = (periods: number, throttled: number) => `nr_periods ${periods}\nnr_throttled ${throttled}\n`;

  test('is the sum over pods, from the first reading on, and does not go back when a pod ends', () => {
    const files = recorded('cgroup-v2');
    const reader = new HostReader(hostOf(files));
    const read = () => {
      const { periods, throttled } = reader.read(places);
      return [periods, throttled];
    };
    expect(read()).toEqual([0, 0]);
    files.set(podStat, stat(700, 663));
    expect(read()).toEqual([40, 10]);
    files.set(podStat.replaceAll('aaaa', 'bbbb'), stat(100, 50));
    expect(read()).toEqual([140, 60]);
    files.delete(podStat);
    expect(read()).toEqual([140, 60]);
  });

  test('continues from the last reading of the agent before', () => {
    const reader = new HostReader(hostOf(recorded('cgroup-v2')), { periods: 140, throttled: 60 });
    expect(reader.read(places)).toMatchObject({ periods: 140, throttled: 60 });
  });

  test('of a pod whose counters started again is not negative', () => {
    const files = recorded('cgroup-v2');
    const reader = new HostReader(hostOf(files));
    reader.read(places);
    files.set(podStat, stat(3, 1));
    expect(reader.read(places)).toMatchObject({ periods: 0, throttled: 0 });
  });
});
