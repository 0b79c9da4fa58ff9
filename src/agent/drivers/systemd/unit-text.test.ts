/** The command of a kubelet's unit, in the forms of those who write such units, and relet's own drop-ins. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  baseCommand,
  type DropIn,
  overridingDropIn,
  readDropIn,
  renderDropIn,
  safePath,
  type UnitFile,
  valuesOf,
  wordsOf,
  wrapperIn,
} from './unit-text.js';

/** The files of a unit, as `systemctl cat` prints them. */
function unit(name: string): UnitFile[] {
  const text = readFileSync(join(import.meta.dirname, '../../../../test/fixtures/units', `${name}.txt`), 'utf8');
  const [, ...parts] = text.split(/^# (\/\S+)$/m);
  return parts.flatMap((path, at) => (at % 2 === 0 ? [{ path, text: parts[at + 1]! }] : []));
}

const service = (...lines: string[]): UnitFile => ({
  path: '/etc/systemd/system/kubelet.service',
  text: ['[Service]', ...lines].join('\n'),
});
const dropIn = (name: string, ...lines: string[]): UnitFile => ({
  ...service(...lines),
  path: `/etc/systemd/system/kubelet.service.d/${name}`,
});
const plain = service('ExecStart=/usr/bin/kubelet $ARGS');

describe('the command of a unit', () => {
  test.each([
    [
      'kubeadm',
      '/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS',
    ],
    ['kops', '/usr/local/bin/kubelet "$DAEMON_ARGS"'],
    ['eks-al2023', '/usr/bin/kubelet $NODEADM_KUBELET_ARGS'],
    [
      'aks',
      `/usr/local/bin/kubelet  --enable-server  --node-labels="\${KUBELET_NODE_LABELS}"  --v=2  --volume-plugin-dir=/etc/kubernetes/volumeplugins  $KUBELET_TLS_BOOTSTRAP_FLAGS  $KUBELET_CONFIG_FILE_FLAGS  $KUBELET_CONTAINERD_FLAGS  $KUBELET_FLAGS`,
    ],
    [
      'flatcar',
      '/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS --volume-plugin-dir=/opt/libexec/kubernetes/kubelet-plugins/volume/exec',
    ],
    ['gce', '/home/kubernetes/bin/kubelet $KUBELET_OPTS'],
  ])('is taken word for word from the files of %s', (name, expected) => {
    const base = baseCommand(unit(name));
    expect(base.text).toBe(expected);
    expect(wrapperIn(base)).toBeUndefined();
  });

  test.each<[string, UnitFile[], string]>([
    [
      'the last one after the last empty one counts',
      [plain, dropIn('a.conf', 'ExecStart=', 'ExecStart=/k --b')],
      '/k --b',
    ],
    [
      'relet’s own drop-ins do not',
      [plain, dropIn('zz-relet-90-trial.conf', 'ExecStart=', 'ExecStart=/k')],
      '/usr/bin/kubelet $ARGS',
    ],
    [
      'nor do other settings and other sections',
      [{ ...plain, text: `${plain.text}\nExecStartPre=/a\n[X]\nExecStart=/b` }],
      '/usr/bin/kubelet $ARGS',
    ],
    ['comments inside a continued line are left out', [service('ExecStart=/k \\', '# a', '; b', '  --c')], '/k  --c'],
    ['an escaped backslash at the end does not continue', [service('ExecStart=/k \\\\', 'Restart=always')], '/k \\\\'],
    [
      'quotes, escapes and specifiers stay',
      [service(`ExecStart = /k "--a b" '--c' \\x41 %n $$D \${E}`)],
      `/k "--a b" '--c' \\x41 %n $$D \${E}`,
    ],
  ])('%s', (_name, files, expected) => expect(baseCommand(files).text).toBe(expected));

  test('two commands, or none, are an error that names the files', () => {
    const second = dropIn('10-second.conf', 'ExecStart=/usr/bin/other');
    expect(() => baseCommand([plain, second])).toThrow(
      'more than one ExecStart= (/etc/systemd/system/kubelet.service: /usr/bin/kubelet $ARGS; /etc/systemd/system/kubelet.service.d/10-second.conf: /usr/bin/other)',
    );
    expect(() => baseCommand([service('ExecStart=/a ; /b')])).toThrow('more than one command');
    expect(() => baseCommand([plain, dropIn('a.conf', 'ExecStart=')])).toThrow('no ExecStart= in /etc/systemd');
  });

  test.each<[string, string | undefined]>([
    ['/usr/bin/relet kubelet --dynamic-config-dir=/d', 'relet'],
    ['/usr/bin/node /opt/relet/bin/relet.cjs kubelet', '/opt/relet/bin/relet.cjs'],
    ['/bin/bash -c "exec /usr/bin/kubelet $ARGS"', 'bash'],
    ['-/bin/sh -ec "kubelet"', 'sh'],
    ['/usr/bin/hyperkube kubelet $ARGS', undefined],
    ['@/usr/bin/kubelet kubelet --v=2', undefined],
  ])('a wrapper in front of the kubelet is recognised: %s', (text, expected) =>
    expect(wrapperIn({ text, digest: '' })).toBe(expected),
  );

  test('words are split at blanks outside of quotes', () =>
    expect(wordsOf(`/k "a b"  --c='d e' \\x20 f"g"`)).toEqual(['/k', 'a b', '--c=d e', '\\x20', 'fg']));

  test('a drop-in that sets a command after relet’s is found', () => {
    expect(overridingDropIn([plain, dropIn('override.conf', 'ExecStart=/k')])).toBeUndefined();
    expect(overridingDropIn([plain, dropIn('zzz.conf', 'Nice=5')])).toBeUndefined();
    expect(overridingDropIn([plain, dropIn('zzz.conf', 'ExecStart=/k')])).toContain('/zzz.conf');
  });
});

describe('a drop-in of relet', () => {
  const digest = 'a'.repeat(64);
  const given: DropIn = {
    kind: 'trial',
    base: baseCommand([plain]),
    config: { digest, file: `/var/lib/relet/configs/${digest}/kubelet.yaml` },
    hasConfigDir: false,
    counter: { script: '/var/lib/relet/host.sh', limit: 3 },
  };
  const startOf = (text: string) => valuesOf(text, 'ExecStart');

  test('repeats the command, with the config last', () => {
    const text = renderDropIn(given);
    expect(startOf(text)).toEqual(['', `/usr/bin/kubelet $ARGS --config=${given.config!.file}`]);
    expect(valuesOf(text, 'ExecStopPost')).toEqual([`-/bin/sh /var/lib/relet/host.sh exited trial ${digest} 3 60`]);
    expect(text).toContain('[Unit]\nStartLimitIntervalSec=0\n');
    expect(text).toContain('\nRestartSec=1\n');
  });

  test('of a last known good leaves the restart policy of the unit alone', () =>
    expect(renderDropIn({ ...given, kind: 'good' })).not.toMatch(/RestartSec|StartLimit/));

  test('takes the drop-in directory of the host away where it has one, but not from the local config', () => {
    const withDir = { ...given, hasConfigDir: true };
    expect(startOf(renderDropIn(withDir))[1]).toMatch(/kubelet\.yaml --config-dir=$/);
    expect(startOf(renderDropIn({ ...withDir, config: undefined }))[1]).toBe('/usr/bin/kubelet $ARGS');
  });

  test('shows which config and which command it was made from; a file of somebody else does not', () => {
    expect(readDropIn(renderDropIn(given))).toEqual({ config: digest, base: given.base.digest });
    expect(readDropIn(renderDropIn({ ...given, config: undefined }))).toMatchObject({ config: 'local' });
    expect(readDropIn('[Service]\nNice=5\n')).toBeUndefined();
  });

  test('is not part of the command that the next one is made from', () => {
    const own = dropIn('zz-relet-90-trial.conf', ...renderDropIn(given).split('\n'));
    expect(baseCommand([plain, own])).toEqual(given.base);
  });

  test.each(['/a b', '/a%n', '/a$b', '/a"b', 'relative', '/a/../b', '/a\nExecStart=/evil', '/ä', '/'])(
    'never contains a path such as %j',
    (path) => {
      expect(() => safePath(path)).toThrow('cannot be written to a unit file');
      expect(() => renderDropIn({ ...given, config: { digest, file: path } })).toThrow();
    },
  );
});
