/** Suggestions of TAB in a word of `relet set`, and for options of `relet config`. */
import { describe, expect, test } from 'vitest';
import { flagsFor, namesOf, settingsFor } from './complete-names.js';

const offered = (typed: string) =>
  settingsFor(typed, 32)
    .map(({ word }) => word)
    .filter((word) => word.startsWith(typed));

describe('a word of relet set', () => {
  test.each<[string, string, string[]]>([
    ['a field ends in an equals sign', 'maxPo', ['maxPods=']],
    ['a map is offered by key and whole', 'evictionH', ['evictionHard.', 'evictionHard=']],
    ['keys of a map', 'evictionHard.mem', ['evictionHard.memory.available=']],
    ['resources that can be reserved', 'kubeReserved.p', ['kubeReserved.pid=']],
    ['feature gates', 'featureGates.NodeSw', ['featureGates.NodeSwap=']],
    [
      'options of a policy',
      'topologyManagerPolicyOptions.max',
      ['topologyManagerPolicyOptions.max-allowable-numa-nodes='],
    ],
    ['values of a field that takes a few', 'cpuManagerPolicy=', ['cpuManagerPolicy=none', 'cpuManagerPolicy=static']],
    ['values of a nested field', 'memorySwap.swapBehavior=L', ['memorySwap.swapBehavior=LimitedSwap']],
    ['true and false', 'failSwapOn=', ['failSwapOn=true', 'failSwapOn=false']],
    ['true and false of a gate', 'featureGates.NodeSwap=t', ['featureGates.NodeSwap=true']],
    ['items of a list', 'enforceNodeAllocatable=p', ['enforceNodeAllocatable=pods']],
    ['no values of a number', 'maxPods=', []],
    ['no values of a field that does not exist', 'nope=', []],
  ])('%s', (_name, typed, expected) => expect(offered(typed)).toEqual(expected));

  test('keys are not offered before the map is chosen', () => {
    expect(offered('feat')).toEqual(['featureGates.', 'featureGates=']);
  });

  test('only what the version of the kubelet knows', () => {
    expect(settingsFor('evictionHard.', 13).map(({ word }) => word)).not.toContain('evictionHard.pid.available=');
  });
});

describe('an option of relet config', () => {
  const flags = (typed: string, minor = 32) =>
    flagsFor(typed, minor)
      .map(({ word }) => word)
      .filter((word) => word.startsWith(typed));

  test.each<[string, string, string[]]>([
    ['a flag ends in an equals sign', 'max-p', ['max-pods=']],
    ['values of a flag whose field takes a few', 'cgroup-driver=', ['cgroup-driver=cgroupfs', 'cgroup-driver=systemd']],
    ['true and false', 'fail-swap-on=t', ['fail-swap-on=true']],
    ['no values of a number', 'max-pods=', []],
    ['no values of a flag that does not exist', 'nope=', []],
  ])('--flag: %s', (_name, typed, expected) => expect(flags(typed)).toEqual(expected));

  test('--flag: only flags of that version', async () => {
    expect(flags('iptables-drop-b', 27)).toEqual(['iptables-drop-bit=']);
    expect(flags('iptables-drop-b', 36)).toEqual([]);
    const named = await namesOf(['flags'], { typed: '', options: { kubeletVersion: '1.27' } });
    expect(named).toEqual(flagsFor('', 27));
  });

  test('--kubelet-version: those that relet knows, the newest first', async () => {
    const words = (await namesOf(['versions'], { typed: '', options: {} })).map(({ word }) => word);
    expect([words[0], words.at(-1)]).toEqual(['1.37', '1.11']);
  });
});
