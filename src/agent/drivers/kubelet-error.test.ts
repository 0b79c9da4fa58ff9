/** Why a kubelet exited, from its lines. Those of 1.36 and 1.23 were printed by kubelets v1.36.0 and v1.23.17; the others have klog's form. */
import { describe, expect, test } from 'vitest';
import { summarizeLog } from './kubelet-error.js';

const cases: [name: string, lines: string[], error: string | undefined][] = [
  [
    '1.36: a port that is taken, after an error that did not end it',
    [
      'I1116 12:30:17.960184    5534 server.go:193] "Starting to listen" address="0.0.0.0" port=21250',
      'E1116 12:30:17.966371    5534 kubelet.go:2646] "Skipping pod synchronization" err="[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]"',
      'I1116 12:30:17.968953    5534 server.go:354] "Adding debug handlers to kubelet server"',
      'E1116 12:30:17.970490    5534 server.go:209] "Failed to listen and serve" err="listen tcp 0.0.0.0:21250: bind: address already in use"',
    ],
    'listen tcp 0.0.0.0:21250: bind: address already in use',
  ],
  [
    '1.36 with logging.format json: the same port',
    [
      '{"ts":1794832194403.665,"caller":"kubelet/kubelet.go:2622","msg":"Starting kubelet main sync loop","v":0}',
      '{"ts":1794832194403.6907,"caller":"kubelet/kubelet.go:2646","msg":"Skipping pod synchronization","err":"[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]","errCauses":[{"error":"container runtime status check may not have completed yet"},{"error":"PLEG is not healthy: pleg has yet to be successful"}]}',
      '{"ts":1794832194403.7783,"caller":"server/server.go:209","msg":"Failed to listen and serve","err":"listen tcp 0.0.0.0:21250: bind: address already in use"}',
      '{"ts":1794832194403.9,"caller":"server/server.go:354","msg":"Adding debug handlers to kubelet server","v":0}',
    ],
    'listen tcp 0.0.0.0:21250: bind: address already in use',
  ],
  [
    '1.36: a value that fails only at start',
    [
      'I1116 12:30:06.721757    5131 server.go:598] "No api server defined - no events will be sent to API server"',
      `E1116 12:30:06.721809    5131 run.go:72] "command failed" err="failed to run Kubelet: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"`,
    ],
    "failed to run Kubelet: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    '1.36: a config file that is missing, in escaped quotes',
    [
      'E1116 12:29:24.387227    3507 run.go:72] "command failed" err="failed to load kubelet config file, path: /nowhere.yaml, error: failed to load Kubelet config file /nowhere.yaml, error failed to read kubelet config file \\"/nowhere.yaml\\", error: open /nowhere.yaml: no such file or directory"',
    ],
    'failed to load kubelet config file, path: /nowhere.yaml, error: failed to load Kubelet config file /nowhere.yaml, error failed to read kubelet config file "/nowhere.yaml", error: open /nowhere.yaml: no such file or directory',
  ],
  [
    '1.36: an error of several lines',
    [
      'E1116 12:29:23.786802    3416 run.go:72] "command failed" err=<',
      "\tfailed to load kubelet config file, path: /config, error: failed to load Kubelet config file /config, error failed to decode: Object 'Kind' is missing in 'maxPods: 5",
      "\t'",
      ' >',
    ],
    "failed to load kubelet config file, path: /config, error: failed to load Kubelet config file /config, error failed to decode: Object 'Kind' is missing in 'maxPods: 5 '",
  ],
  [
    '1.36: an unknown flag',
    [
      'E1116 12:29:23.632737    3379 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: --nonsense"',
    ],
    'failed to parse kubelet flag: unknown flag: --nonsense',
  ],
  [
    '1.36: a panic, with its stack trace',
    [
      'panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: unrecognized feature gate: DynamicKubeletConfig',
      '',
      'goroutine 1 [running]:',
      'k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1.SetDefaults_KubeletConfiguration(0x3e65997edc08)',
      '\t/src/pkg/kubelet/apis/config/v1beta1/defaults.go:72 +0x13e5',
    ],
    'panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: unrecognized feature gate: DynamicKubeletConfig',
  ],
  [
    'a panic that was recovered and raised again, after the line that klog has about it',
    [
      'E1116 12:00:00.000000       7 panic.go:262] "Observed a panic" panic="runtime error: index out of range [3] with length 3" stacktrace=<',
      '\tgoroutine 88 [running]:',
      '\tpanic({0x30c0800?, 0x3e65997edc08?})',
      ' >',
      'panic: runtime error: index out of range [3] with length 3 [recovered, repanicked]',
      '\tpanic: runtime error: index out of range [3] with length 3',
      'goroutine 88 [running]:',
    ],
    'panic: runtime error: index out of range [3] with length 3',
  ],
  [
    '1.36: SIGABRT, as from a watchdog',
    ['SIGABRT: abort', 'PC=0x40de6c m=0 sigcode=0', 'goroutine 342 gp=0x1c9aba58c5a0 m=0 mp=0x54c9c40 [syscall]:'],
    'SIGABRT: abort',
  ],
  [
    'a fatal error of the Go runtime',
    ['fatal error: concurrent map writes', '', 'goroutine 12 [running]:', 'internal/runtime/maps.fatal(…)'],
    'fatal error: concurrent map writes',
  ],
  [
    'klog.Fatal, with all goroutines',
    [
      'E1116 12:00:00.000000   20375 server.go:100] an earlier error',
      'F1116 12:00:00.000001   20375 server.go:274] failed to run Kubelet: misconfiguration: kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"',
      'goroutine 1 [running]:',
      'k8s.io/kubernetes/vendor/k8s.io/klog.stacks(0xc0000dc001, 0xc0008a4000, 0xc9, 0x1f5)',
      'E1116 12:00:00.000002   20375 reflector.go:1] an error of another goroutine',
    ],
    'failed to run Kubelet: misconfiguration: kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"',
  ],
  [
    '1.23: a message for each step',
    [
      'I1116 13:15:36.818507   28252 server.go:494] "No api server defined - no events will be sent to API server"',
      `E1116 13:15:36.818550   28252 server.go:302] "Failed to run kubelet" err="failed to run Kubelet: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"`,
    ],
    "failed to run Kubelet: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    '1.23: a field after the error',
    [
      'E1116 13:15:31.616700   28216 server.go:225] "Failed to validate kubelet configuration" err="invalid configuration: maxPods (--max-pods) -5 must not be a negative number" path="&TypeMeta{Kind:,APIVersion:,}"',
    ],
    'invalid configuration: maxPods (--max-pods) -5 must not be a negative number',
  ],
  [
    '1.23: an unknown flag, and the usage after it',
    [
      'E1116 13:15:36.957072   28927 server.go:158] "Failed to parse kubelet flag" err="unknown flag: --nonsense"',
      'Usage:',
      '  kubelet [flags]',
      ...Array.from({ length: 300 }, (_, at) => `      --flag-${at} string   what it sets`),
    ],
    'unknown flag: --nonsense',
  ],
  [
    'an error without err=, and with a field that contains it',
    ['E1115 20:19:54.250432   20375 server.go:302] "Container runtime is gone" hint="set err=\\"x\\" here"'],
    'Container runtime is gone',
  ],
  [
    'a command line that cobra rejects',
    ['Usage:', '  kubelet [flags]', 'Error: unknown shorthand flag: "z" in -z'],
    'unknown shorthand flag: "z" in -z',
  ],
  [
    'a program that does not start',
    ['kubelet: error while loading shared libraries: libseccomp.so.2: cannot open shared object file'],
    'kubelet: error while loading shared libraries: libseccomp.so.2: cannot open shared object file',
  ],
  [
    'a kubelet that reports no error',
    ['I1116 12:30:24.686814    5969 server.go:545] "Kubelet version" kubeletVersion="v1.36.0"', 'a line of its own'],
    undefined,
  ],
  ['a warning about a flag', ['Flag --foo has been deprecated, use the config file'], undefined],
];

test.each(cases)('%s', (_name, lines, error) => {
  expect(summarizeLog(lines)?.error).toBe(error);
});

describe('the lines', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`);

  test('are the last ones, each of a bounded length, without blank lines and control characters', () => {
    const { lines } = summarizeLog([...numbered(30), '', '\u001b[31mred', 'y'.repeat(1000)])!;
    expect(lines).toHaveLength(20);
    expect(lines[0]).toBe('line 12');
    expect(lines.at(-2)).toBe('\\u001b[31mred');
    expect(lines.at(-1)).toHaveLength(500);
  });

  test('are those around the error where a long stack trace follows it', () => {
    const { lines } = summarizeLog([...numbered(30), 'panic: crashed', ...numbered(500)])!;
    expect(lines).toHaveLength(20);
    expect(lines.indexOf('panic: crashed')).toBe(9);
    expect(lines[0]).toBe('line 21');
  });

  test('begin with the error where nothing precedes it', () => {
    expect(summarizeLog(['panic: crashed', ...numbered(500)])!.lines.slice(0, 2)).toEqual(['panic: crashed', 'line 0']);
  });

  test('of a kubelet that logged nothing do not exist', () => expect(summarizeLog(['', ' '])).toBeUndefined());
});
