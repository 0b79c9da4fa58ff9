/** Facts of the machine for the forecast: from files, and from what one command on the host prints. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { commandRunner } from '../drivers/command.js';
import { cgroupsNamedIn, factsOnHost, readFacts } from './facts-on-host.js';
import { describeMachine } from './host-facts.js';

function hostWith(files: Record<string, string>): string {
  const root = temporaryDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test('swap and NUMA nodes of the machine are known', () => {
  const header = 'Filename\tType\tSize\tUsed\tPriority\n';
  const nodes = { 'sys/devices/system/node/node0/cpulist': '0', 'sys/devices/system/node/node1/cpulist': '1' };
  const swap = { 'proc/swaps': `${header}/dev/vdb partition 524284 0 -2\n` };
  expect(describeMachine(hostWith({ ...nodes, ...swap }))).toMatchObject({ swap: true, numaNodes: 2 });
  expect(describeMachine(hostWith({ ...nodes, 'proc/swaps': header }))).toMatchObject({ swap: false });
});

test('the number of processes and threads is limited by the smaller one of two kernel settings', () => {
  const pids = { 'proc/sys/kernel/pid_max': '4194304\n', 'proc/sys/kernel/threads-max': '31000\n' };
  expect(describeMachine(hostWith(pids))).toMatchObject({ maxPids: 31_000 });
  expect(describeMachine(hostWith({ 'proc/sys/kernel/pid_max': '32768\n' }))).toMatchObject({ maxPids: 32_768 });
  expect(describeMachine(hostWith({ x: '' }))).not.toHaveProperty('maxPids');
});

test('NUMA nodes with a gap in their numbers, and a host that shows nothing, are not counted', () => {
  const gap = { 'sys/devices/system/node/node0/cpulist': '0', 'sys/devices/system/node/node2/cpulist': '1' };
  expect(describeMachine(hostWith(gap))).not.toHaveProperty('numaNodes');
  expect(describeMachine(hostWith({ x: '' }))).not.toHaveProperty('swap');
});

test('the host is asked about cgroups that a document or a flag names, in the ways in which both drivers read them', () => {
  const pods = ['/kubepods.slice', '/kubepods'];
  expect(cgroupsNamedIn('systemReservedCgroup: /system.slice')).toEqual(['/system.slice', ...pods]);
  expect(cgroupsNamedIn('{"kubeReservedCgroup":"/kube/runtime"}')).toEqual([
    '/runtime.slice',
    '/kube/runtime',
    ...pods,
  ]);
  expect(cgroupsNamedIn('kubeReservedCgroup: /a-b')).toEqual(['/a.slice/a-b.slice', '/a-b', ...pods]);
  expect(cgroupsNamedIn('--cgroup-root=/a-b')).toEqual(['/a_b.slice', '/a-b', ...pods]);
  expect(cgroupsNamedIn('systemReserved: {memory: 1Gi}')).toEqual(pods);
  expect(cgroupsNamedIn('systemReservedCgroup: /../../etc')).toEqual(['/etc.slice', ...pods]);
  expect(cgroupsNamedIn('maxPods: 10')).toEqual([]);
});

test('no command is run for a config that depends on no such fact, and nothing is known where the host does not answer', async () => {
  const fails = () => Promise.reject(new Error('no answer'));
  expect(await factsOnHost(fails, 'maxPods: 10')).toEqual({});
  expect(await factsOnHost(fails, 'protectKernelDefaults: true')).toEqual({});
});

test('a cgroup that does not exist is known to be missing', async () => {
  const { cgroups } = await factsOnHost(commandRunner(process.env), 'systemReservedCgroup: /relet-none');
  expect(cgroups).toMatchObject({ '/relet.slice/relet-none.slice': false, '/relet-none': false });
});

test('memory that the kernel can take back at once does not count as used', () => {
  const { cgroups } = readFacts(['cgroup /system.slice 300 100 80', 'cgroup /x - - -', 'cgroup /none none']);
  expect(cgroups).toEqual({ '/system.slice': { memoryBytes: 200, pids: 80 }, '/x': {}, '/none': false });
});

test('sysctls at the next boot follow the order of systemd-sysctl, after the command line of the kernel', () => {
  const lines = [
    'cmdline root=/dev/vda panic=5 quiet',
    'file /usr/lib/sysctl.d/50-default.conf',
    'sysctl /usr/lib/sysctl.d/50-default.conf vm.overcommit_memory = 0',
    'file /usr/lib/sysctl.d/90-k8s.conf',
    'sysctl /usr/lib/sysctl.d/90-k8s.conf kernel.panic = 7',
    'file /etc/sysctl.d/90-k8s.conf',
    'sysctl /etc/sysctl.d/90-k8s.conf -vm/overcommit_memory=1',
    'sysctl /etc/sysctl.d/90-k8s.conf # kernel.panic_on_oops = 1',
    'file /etc/sysctl.d/10-first.conf',
    'sysctl /etc/sysctl.d/10-first.conf vm.overcommit_memory = 2',
  ];
  expect(readFacts(lines).sysctlsAtBoot).toEqual({
    'kernel.panic': { value: '5', by: 'the command line of the kernel' },
    'vm.overcommit_memory': { value: '1', by: '/etc/sysctl.d/90-k8s.conf' },
  });
});
