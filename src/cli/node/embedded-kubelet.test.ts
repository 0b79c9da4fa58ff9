/** Which unit has the kubelet inside it, and what k3s and RKE2 show of its flags. */
import { describe, expect, test } from 'vitest';
import type { Systemd, UnitState } from '../../agent/drivers/systemd/systemd.js';
import { embeddedCommand, loggedFlags, unitOf } from './embedded-kubelet.js';

const dir = '--config-dir=/var/lib/rancher/k3s/agent/etc/kubelet.conf.d';
const line = `time="2026-11-18T20:00:00Z" level=info msg="Running kubelet --cloud-provider=external ${dir} --node-labels= --resolv-conf=\\"/a b\\""`;
const unit = { name: 'k3s.service', execStart: [['/usr/local/bin/k3s', 'server']], mainPid: 7, invocationId: 'a1' };

const commandOf = (program: 'k3s' | 'rke2', answers: Record<string, string>) =>
  embeddedCommand(unit as unknown as UnitState & { name: string }, program, async (command) => {
    const key = Object.keys(answers).find((part) => command.join(' ').includes(part));
    return { code: 0, stdout: key === undefined ? '' : answers[key]!, stderr: '' };
  });

describe('flags of an embedded kubelet', () => {
  test('those of k3s are in its journal, and a value may have blanks in it', async () => {
    expect(loggedFlags(line)).toEqual(['--cloud-provider=external', dir, '--node-labels=', '--resolv-conf="/a b"']);
    expect(await commandOf('k3s', { journalctl: line })).toMatchObject({
      command: ['/usr/local/bin/k3s'],
      embedding: { program: 'k3s', configDir: '/var/lib/rancher/k3s/agent/etc/kubelet.conf.d' },
    });
  });

  test('those of RKE2 are the ones of its child, which can be asked; without one they are in the journal', async () => {
    const child = `/data/bin/kubelet\nkubelet\0--v=2\0${dir}\0`;
    expect(await commandOf('rke2', { children: child })).toMatchObject({
      command: ['/data/bin/kubelet'],
      args: ['--v=2', dir],
    });
    expect(await commandOf('rke2', { journalctl: line })).toMatchObject({ command: ['/usr/local/bin/k3s'] });
  });

  test('a journal without them, and a k3s whose kubelet reads no drop-ins, are errors with a remedy', async () => {
    await expect(commandOf('k3s', {})).rejects.toThrow('restart k3s.service once');
    await expect(commandOf('k3s', { journalctl: line.replace(dir, '--v=1') })).rejects.toThrow(
      "'relet export FILE --to k3s --target-version 1.31'",
    );
  });
});

describe('the unit of the kubelet', () => {
  const choose = (states: Record<string, Partial<UnitState>>, name = 'kubelet.service') =>
    unitOf({ unit: async (one: string) => ({ loadState: 'not-found', ...states[one] }) } as unknown as Systemd, name);
  const loaded = { loadState: 'loaded', activeState: 'inactive', unitFileState: 'disabled' };

  test.each([
    ['kubelet.service where there is one', { 'kubelet.service': loaded, 'k3s.service': loaded }, 'kubelet.service'],
    [
      'else the one that runs',
      { 'rke2-server.service': loaded, 'rke2-agent.service': { ...loaded, activeState: 'active' } },
      'rke2-agent.service',
    ],
    ['else the one that is enabled', { 'k3s.service': { ...loaded, unitFileState: 'enabled' } }, 'k3s.service'],
    ['else none other', { 'k3s.service': loaded }, 'kubelet.service'],
  ])('%s', async (_name, states, expected) => {
    expect(await choose(states)).toBe(expected);
  });

  test('a name that was given stays', async () => {
    expect(await choose({ 'k3s.service': { ...loaded, activeState: 'active' } }, 'own.service')).toBe('own.service');
  });
});
