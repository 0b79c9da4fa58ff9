/** Feature gates: known, unknown, locked, by minor, alone and together. */
import { describe, expect, test } from 'vitest';
import { gateAt, gateErrors, gatesOf, gateWarnings, isGateOn, isOn, settle } from './gates.js';

const messages = (layers: Record<string, boolean>[], minor: number) =>
  gateErrors(layers, minor)
    .filter(({ isLater }) => !isLater)
    .map((error) => error.message);

describe('what a minor knows', () => {
  test.each([
    ['NodeSwap', 21, undefined],
    ['NodeSwap', 22, { stage: 'Alpha', default: false, locked: false }],
    ['NodeSwap', 30, { stage: 'Beta', default: true, locked: false }],
    ['NodeSwap', 34, { stage: 'GA', default: true, locked: true }],
    ['DynamicKubeletConfig', 11, { stage: 'Beta', default: true, locked: false }],
    ['DynamicKubeletConfig', 26, undefined],
    ['ContextualLogging', 23, undefined],
    ['ContextualLogging', 24, { stage: 'Alpha', default: false, locked: false }],
    ['ReloadKubeletClientCAFile', 36, { stage: 'Beta', default: true, locked: false }],
    ['SystemdWatchdog', 31, undefined],
    ['SystemdWatchdog', 34, { stage: 'Beta', default: true, locked: false }],
    ['SystemdWatchdog', 37, { stage: 'GA', default: true, locked: true }],
    ['SidecarContainers', 37, undefined],
    ['MemoryQoS', 36, { stage: 'Alpha', default: false, locked: false }],
    ['MemoryQoS', 37, { stage: 'Beta', default: true, locked: false }],
    ['NodeDeclaredFeatures', 37, { stage: 'GA', default: true, locked: true }],
    ['AllBeta', 16, undefined],
    ['AllBeta', 17, { stage: 'Beta', default: false, locked: false }],
    ['toString', 32, undefined],
  ])('%s in 1.%i', (name, minor, gate) => {
    expect(gateAt(name, minor)).toEqual(gate);
  });

  test('the tables hold the same number of gates as the binaries', () => {
    expect([11, 23, 32, 36, 37].map((minor) => gatesOf(minor).length)).toEqual([57, 138, 176, 240, 252]);
  });

  test('a minor newer than the tables is read as the newest we know', () => {
    expect(gateAt('NodeSwap', 99)).toEqual(gateAt('NodeSwap', 37));
  });
});

describe('which are on', () => {
  test.each([
    ['the default holds', {}, 'RotateKubeletServerCertificate', 23, true],
    ['a chosen value holds', { RotateKubeletServerCertificate: false }, 'RotateKubeletServerCertificate', 23, false],
    ['AllAlpha turns on what is alpha', { AllAlpha: true }, 'NodeSwap', 23, true],
    ['AllAlpha leaves beta alone', { AllAlpha: true }, 'NodeSwap', 28, false],
    ['a gate by name wins over AllAlpha', { AllAlpha: true, NodeSwap: false }, 'NodeSwap', 23, false],
    ['AllBeta turns beta off', { AllBeta: false }, 'GracefulNodeShutdown', 32, false],
  ])('%s', (_name, chosen, gate, minor, on) => {
    expect(isGateOn(gate, chosen, minor)).toBe(on);
  });

  test('AllAlpha of a flag stays, whatever the document says of AllAlpha later', () => {
    expect(isOn('NodeSwap', settle([{ AllAlpha: true }, { AllAlpha: false }], 23), 23)).toBe(true);
  });
});

describe('what is refused', () => {
  test.each([
    [11, { NoSuch: true }, ['unrecognized key: NoSuch']],
    [12, { NoSuch: true }, ['unrecognized feature gate: NoSuch']],
    [32, { '': true }, ['unrecognized feature gate: ']],
    [32, { __proto__x: true }, ['unrecognized feature gate: __proto__x']],
    [34, { NodeSwap: false }, ['cannot set feature gate NodeSwap to false, feature is locked to true']],
    [34, { NodeSwap: true }, []],
    [33, { NodeSwap: false }, []],
    [16, { AllBeta: true }, ['unrecognized feature gate: AllBeta']],
    [36, { ProcMountType: true, UserNamespacesSupport: true }, []],
    [36, { EventedPLEG: true, PLEGOnDemandRelist: false }, []],
    [37, { DRAConsumableCapacity: false }, []],
    [
      37,
      { DRAConsumableCapacity: false, DRAFractionalCapacityRange: true },
      ['DRAFractionalCapacityRange is enabled, but depends on features that are disabled: [DRAConsumableCapacity]'],
    ],
  ])('1.%i on %j', (minor, gates, expected) => {
    expect(messages([gates as Record<string, boolean>], minor)).toEqual(expected);
  });

  test('since 1.31 every locked gate is named, but an unknown one ends the list', () => {
    const locked = Object.fromEntries(
      gatesOf(32)
        .filter((name) => gateAt(name, 32)?.locked)
        .slice(0, 2)
        .map((name) => [name, gateAt(name, 32)?.default !== true]),
    );
    expect(messages([locked], 32)).toHaveLength(2);
    expect(messages([{ ...locked, Aardvark: true }], 32)).toHaveLength(
      1 + Object.keys(locked).filter((n) => n < 'Aardvark').length,
    );
  });

  test('those that the kubelet would report after a correction are marked', () => {
    const gates = { Aardvark: true, NodeSwapp: true, GracefulNodeShutdown: false };
    expect(gateErrors([gates], 35).map(({ name, isLater = false }) => [name, isLater])).toEqual([
      ['Aardvark', false],
      ['NodeSwapp', true],
      ['GracefulNodeShutdownBasedOnPodPriority', true],
      ['WindowsGracefulNodeShutdown', true],
    ]);
  });

  test.each([
    ['NodeSwapp', true, 32, 'did you mean NodeSwap?'],
    ['DynamicKubeletConfig', true, 32, 'remove it: 1.25 was the last version that knew it'],
    ['SidecarContainers', true, 37, 'remove it: 1.36 was the last version that knew it'],
    ['ReloadKubeletClientCAFile', true, 32, 'remove it: it came with 1.36'],
    ['NodeSwap', false, 34, 'remove it: this kubelet has it always on'],
    ['Xyzzy', true, 32, undefined],
  ])('%s=%s has a remedy in 1.%i', (name, value, minor, remedy) => {
    expect(gateErrors([{ [name]: value }], minor).map((error) => error.remedy)).toEqual([remedy]);
  });

  test('since 1.35 a gate whose companion is off is refused', () => {
    const gates = { GracefulNodeShutdown: false };
    expect(messages([gates], 34)).toEqual([]);
    expect(messages([gates], 35)).toEqual([
      'GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
      'WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: [GracefulNodeShutdown]',
    ]);
  });

  test('what to do about it names both gates', () => {
    expect(gateErrors([{ GracefulNodeShutdown: false }], 35)[0]!.remedy).toBe(
      'set GracefulNodeShutdownBasedOnPodPriority to false, or GracefulNodeShutdown to true',
    );
  });

  test('no minor refuses its own defaults', () => {
    for (let minor = 11; minor <= 37; minor++) expect(messages([{}], minor)).toEqual([]);
  });
});

test('a GA or deprecated gate is announced as going away', () => {
  expect(gateWarnings({ CSIInlineVolume: true, NodeSwap: true }, 25).map((w) => w.message)).toEqual([
    'Setting GA feature gate CSIInlineVolume=true. It will be removed in a future release.',
  ]);
});
