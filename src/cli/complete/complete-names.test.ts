/** What TAB offers in a word of `relet set`. */
import { describe, expect, test } from 'vitest';
import { settingsFor } from './complete-names.js';

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
