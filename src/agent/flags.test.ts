/** The command line of `relet kubelet`: relet's own flags, and those that reach the kubelet. */
import { describe, expect, test } from 'vitest';
import { divideCommandLine, kubeletArgs } from './flags.js';

const local = (...args: string[]) => kubeletArgs(divideCommandLine(args), undefined);
const dynamic = (...args: string[]) => kubeletArgs(divideCommandLine(args), '/dir/kubelet');

describe('the command line of relet kubelet', () => {
  test('every kubelet flag passes through as it was typed', () => {
    const typed = ['--kubeconfig', '/etc/kc', '--v=4', '--fail_swap_on', '--node-labels=a=b'];
    expect(local(...typed)).toEqual(typed);
  });

  test("relet's own flags are consumed in every form", () => {
    expect(local('--dynamic-config-dir', '/d', '--trial_duration=5m', '--no-forecast', '--v=2')).toEqual(['--v=2']);
  });

  test('a dynamic config replaces --config and --config-dir, and only those', () => {
    expect(dynamic('--config=/etc/k.yaml', '--config-dir', '/etc/k.d', '--max-pods=9')).toEqual([
      '--max-pods=9',
      '--config=/dir/kubelet',
    ]);
  });

  test.each([
    ['alone', '--feature-gates=DynamicKubeletConfig=true', []],
    ['among others', '--feature-gates=A=true,DynamicKubeletConfig=true,B=false', ['--feature-gates=A=true,B=false']],
    ['not at all', '--feature-gates=A=true', ['--feature-gates=A=true']],
  ])('the gate is removed where it is %s', (_name, flag, expected) => {
    expect(local(flag)).toEqual(expected);
  });

  test.each([
    [['--feature-gates=DynamicKubeletConfig=false'], true],
    [['--feature-gates=DynamicKubeletConfig=false', '--feature-gates=DynamicKubeletConfig=true'], false],
    [['--feature-gates=A=false'], false],
  ])('%j turns the feature off: %s', (args, turnedOff) => {
    expect(divideCommandLine(args).turnedOff).toBe(turnedOff);
  });

  test('the last of several values wins', () => {
    expect(divideCommandLine(['--trial-duration=1m', '--trial-duration=90s']).options.trialMs).toBe(90_000);
  });

  test('defaults are those of the design', () => {
    expect(divideCommandLine([]).options).toMatchObject({
      dynamicConfigDir: undefined,
      onChange: 'restart',
      trialMs: 600_000,
      trialHealthDeadlineMs: 60_000,
      trialFailedStarts: 3,
      inPlaceJitterMs: 0,
      restartLimit: { burst: 10, intervalMs: 10_000 },
      forecast: true,
      metricsAddress: { host: '127.0.0.1', port: 10269 },
    });
  });

  test.each([
    ['--on-change=maybe', '--on-change=maybe: must be restart or exit'],
    ['--trial-duration=1d', '--trial-duration=1d: must be a duration such as 90s, 10m or 1h30m'],
    ['--trial-failed-starts=0', '--trial-failed-starts=0: must be a whole number above 0'],
    [
      '--metrics-bind-address=here',
      "--metrics-bind-address=here: must be HOST:PORT, such as 127.0.0.1:10269, or '0' for none",
    ],
    ['--dynamic-config-dir', 'flag needs an argument: --dynamic-config-dir'],
  ])('%s is refused with its remedy', (arg, message) => {
    expect(() => divideCommandLine([arg])).toThrow(message);
  });
});

describe('what the status shows of the flags', () => {
  test('all names are shown, and the values that a check or a detach needs', () => {
    const places = ['--kubeconfig=/etc/kubelet.conf', '--cert-dir=/pki'];
    const args = [...places, '--max-pods', '60', '--fail-swap-on', '--node-labels=a=b', '-v4'];
    expect(divideCommandLine(args).shown).toEqual([
      { name: 'kubeconfig', value: '/etc/kubelet.conf' },
      { name: 'cert-dir', value: '/pki' },
      { name: 'max-pods', value: '60' },
      { name: 'fail-swap-on', value: 'true' },
      { name: 'node-labels', value: 'a=b' },
      { name: 'v', value: '4' },
    ]);
  });

  test.each([
    ['HTTP headers', '--manifest-url-header=Authorization:Bearer s3cret'],
    ['a password', '--storage-driver-password=s3cret'],
    ['a flag that nobody knows', '--token=s3cret'],
    ['a value of any length', `--pod-cidr=${'s3cret'.repeat(500)}`],
  ])('%s: the value is not shown', (_what, flag) => {
    const { shown } = divideCommandLine([flag]);
    expect(shown).toEqual([{ name: flag.slice(2).split('=')[0] }]);
    expect(JSON.stringify(shown)).not.toContain('s3cret');
  });

  test('flags of the hollow kubelet are left out, and a command line of any length is not shown', () => {
    expect(divideCommandLine(['--hollow-cpus=4', '--port=1']).shown).toEqual([{ name: 'port', value: '1' }]);
    expect(divideCommandLine(Array(201).fill('--port=1')).shown).toBeUndefined();
  });
});
