/** Units as distributions write them, in the form in which systemd shows them on D-Bus. */
import { describe, expect, test } from 'vitest';
import {
  checkOwner,
  commandIn,
  layoutOf,
  otherUnits,
  readUnitCommand,
  type UnitFacts,
  wrapperDirIn,
} from './kubelet-unit.js';

interface Host extends Omit<UnitFacts, 'name' | 'environmentFiles'> {
  /** Those of EnvironmentFile=; undefined: missing and optional. */
  files: Record<string, string | undefined>;
}

const kubeadm: Host = {
  fragmentPath: '/usr/lib/systemd/system/kubelet.service',
  dropInPaths: ['/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf'],
  execStart: [
    [
      '/usr/bin/kubelet',
      '$KUBELET_KUBECONFIG_ARGS',
      '$KUBELET_CONFIG_ARGS',
      '$KUBELET_KUBEADM_ARGS',
      '$KUBELET_EXTRA_ARGS',
    ],
  ],
  environment: [
    'KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf',
    'KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml',
  ],
  files: {
    '/var/lib/kubelet/kubeadm-flags.env': 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.7 --node-labels=pool=blue"\n',
    '/etc/default/kubelet': undefined,
  },
};

const hosts: [string, Host, string[]][] = [
  [
    'kubeadm',
    kubeadm,
    [
      '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
      '--kubeconfig=/etc/kubernetes/kubelet.conf',
      '--config=/var/lib/kubelet/config.yaml',
      '--node-ip=10.0.0.7',
      '--node-labels=pool=blue',
    ],
  ],
  [
    'kOps',
    {
      fragmentPath: '/usr/lib/systemd/system/kubelet.service',
      dropInPaths: [],
      execStart: [['/usr/local/bin/kubelet', '$DAEMON_ARGS']],
      environment: [],
      files: {
        '/etc/sysconfig/kubelet':
          'DAEMON_ARGS="--kubeconfig=/var/lib/kubelet/kubeconfig --config=/var/lib/kubelet/kubelet.conf"\nHOME="/root"\n',
      },
    },
    ['--kubeconfig=/var/lib/kubelet/kubeconfig', '--config=/var/lib/kubelet/kubelet.conf'],
  ],
  [
    'EKS',
    {
      fragmentPath: '/etc/systemd/system/kubelet.service',
      dropInPaths: [],
      execStart: [['/usr/bin/kubelet', '$NODEADM_KUBELET_ARGS']],
      environment: [],
      files: {
        '/etc/eks/kubelet/environment':
          "NODEADM_KUBELET_ARGS='--config=/etc/kubernetes/kubelet/config.json --config-dir=/etc/kubernetes/kubelet/config.json.d --kubeconfig=/var/lib/kubelet/kubeconfig'\n",
      },
    },
    [
      '--config=/etc/kubernetes/kubelet/config.json',
      '--config-dir=/etc/kubernetes/kubelet/config.json.d',
      '--kubeconfig=/var/lib/kubelet/kubeconfig',
    ],
  ],
  [
    'AKS',
    {
      fragmentPath: '/etc/systemd/system/kubelet.service',
      dropInPaths: ['/etc/systemd/system/kubelet.service.d/10-tlsbootstrap.conf'],
      execStart: [
        [
          '/usr/local/bin/kubelet',
          '--enable-server',
          `--node-labels=$\{KUBELET_NODE_LABELS}`,
          '--v=2',
          '$KUBELET_TLS_BOOTSTRAP_FLAGS',
          '$KUBELET_CONFIG_FILE_FLAGS',
          '$KUBELET_FLAGS',
        ],
      ],
      environment: ['KUBELET_TLS_BOOTSTRAP_FLAGS=--kubeconfig /var/lib/kubelet/kubeconfig'],
      files: {
        '/etc/default/kubelet':
          'KUBELET_FLAGS=--max-pods=110\nKUBELET_NODE_LABELS=agentpool=a,mode=user\nKUBELET_CONFIG_FILE_FLAGS=--config /etc/default/kubeletconfig.json\n',
      },
    },
    [
      '--enable-server',
      '--node-labels=agentpool=a,mode=user',
      '--v=2',
      '--kubeconfig',
      '/var/lib/kubelet/kubeconfig',
      '--config',
      '/etc/default/kubeletconfig.json',
      '--max-pods=110',
    ],
  ],
  [
    'GCE',
    {
      fragmentPath: '/etc/systemd/system/kubelet.service',
      dropInPaths: [],
      execStart: [['/home/kubernetes/bin/kubelet', '$KUBELET_OPTS']],
      environment: [],
      files: {
        '/etc/default/kubelet':
          'KUBELET_OPTS="--v=2 --kubeconfig=/var/lib/kubelet/kubeconfig --config=/home/kubernetes/kubelet-config.yaml"\nKUBE_COVERAGE_FILE="/var/log/kubelet.cov"\n',
      },
    },
    ['--v=2', '--kubeconfig=/var/lib/kubelet/kubeconfig', '--config=/home/kubernetes/kubelet-config.yaml'],
  ],
  [
    'a unit of its own',
    {
      fragmentPath: '/etc/systemd/system/kubelet.service',
      dropInPaths: [],
      execStart: [['/opt/k8s/hyperkube', 'kubelet', '--kubeconfig=/etc/kubelet.kubeconfig']],
      environment: [],
      files: {},
    },
    ['--kubeconfig=/etc/kubelet.kubeconfig'],
  ],
];

const factsOf = ({ files, ...host }: Host): UnitFacts => ({
  name: 'kubelet.service',
  ...host,
  environmentFiles: Object.entries(files).map(([path, text]) => ({ path, optional: text === undefined })),
});

const dir = '/var/lib/relet';

describe('the unit of a kubelet', () => {
  test.each(hosts)('%s: its layout and its flags are known', async (layout, host, args) => {
    const unit = factsOf(host);
    expect(layoutOf(unit)).toBe(layout);
    expect(await readUnitCommand(unit, { read: async (path) => host.files[path], dir })).toMatchObject({ args });
  });

  test('a later file overrides an earlier one, and any file overrides Environment=', async () => {
    const files = { '/a': 'X=--a\nY=--y', '/b': 'X=--b' };
    const host: Host = { ...kubeadm, execStart: [['/usr/bin/kubelet', '$X', '$Y']], environment: ['Y=--no'], files };
    const { args } = await readUnitCommand(factsOf(host), { read: async (path) => host.files[path], dir });
    expect(args).toEqual(['--b', '--y']);
  });

  test("what relet's own drop-in adds is left out", async () => {
    const own = [`--config=${dir}/configs/0a/kubelet.yaml`, '--config-dir='];
    const host: Host = { ...kubeadm, execStart: [['/usr/bin/kubelet', '--config=/etc/k.yaml', ...own]], files: {} };
    const { args } = await readUnitCommand(factsOf(host), { read: async () => undefined, dir });
    expect(args).toEqual(['--config=/etc/k.yaml']);
  });

  test('a missing file is an error unless the unit starts without it', async () => {
    const unit = { ...factsOf(kubeadm), environmentFiles: [{ path: '/etc/needed', optional: false }] };
    await expect(readUnitCommand(unit, { read: async () => undefined, dir })).rejects.toThrow(
      'EnvironmentFile=/etc/needed',
    );
  });

  test.each([
    ['no ExecStart=', []],
    ['two', [['/usr/bin/kubelet'], ['/usr/bin/kubelet']]],
  ])('%s: it is rejected', async (_name, execStart) => {
    await expect(readUnitCommand({ ...factsOf(kubeadm), execStart }, { read: async () => '', dir })).rejects.toThrow(
      'ExecStart=',
    );
  });
});

describe('what a unit runs', () => {
  const unit = { name: 'kubelet.service' };

  test.each([
    ['/usr/local/bin/relet kubelet --dynamic-config-dir=/d --v=2', '/d'],
    ['/usr/bin/node /opt/relet-0.1.0/bin/relet.cjs kubelet --dynamic_config_dir /d', '/d'],
    ['/usr/local/bin/relet kubelet --v=2', 'DIR'],
  ])('%s is relet in front of the kubelet, and the error names the way out', (line, dir) => {
    expect(wrapperDirIn(line.split(' '))).toBe(dir);
    expect(() => commandIn(line.split(' '), unit)).toThrow(`--import=${dir}`);
  });

  test.each(['/bin/sh -c kubelet', '/usr/bin/docker run kubelet', '/snap/microk8s/kubelite --x'])(
    '%s is not a kubelet',
    (line) => expect(() => commandIn(line.split(' '), unit)).toThrow('not a kubelet'),
  );

  test('a kubelet has any path', () => {
    expect(commandIn(['/opt/bin/kubelet', '--v=2'], unit)).toEqual({ command: ['/opt/bin/kubelet'], args: ['--v=2'] });
    expect(wrapperDirIn(['/opt/bin/kubelet', '--v=2'])).toBeUndefined();
  });

  test('units that look like a kubelet are suggested', () => {
    expect(otherUnits(['ssh.service', 'kubelet.slice', 'snap.kubelet.daemon.service'])).toBe(
      "name the kubelet's with --unit; this host has snap.kubelet.daemon.service",
    );
    expect(otherUnits(['ssh.service'])).toBe("name the kubelet's with --unit");
  });

  test('a kubelet that the Machine Config Operator owns is refused, with what OpenShift applies instead', () => {
    const dropInPaths = ['/etc/systemd/system/kubelet.service.d/10-mco-default-env.conf'];
    const unit = { name: 'kubelet.service', dropInPaths, environmentFiles: [] };
    expect(() => checkOwner(unit)).toThrow("'relet export FILE --to openshift'");
    expect(() => checkOwner({ ...unit, dropInPaths: ['/etc/a/10-kubeadm.conf'] })).not.toThrow();
  });

  test('the kubelet of Bottlerocket is refused, with its settings instead', () => {
    const files = ['/etc/network/proxy.env', '/etc/kubernetes/kubelet/env'];
    const environmentFiles = files.map((path) => ({ path, optional: false }));
    const unit = { name: 'kubelet.service', dropInPaths: ['/etc/systemd/system/kubelet.service.d/exec-start.conf'] };
    expect(() => checkOwner({ ...unit, environmentFiles })).toThrow(
      /settings\.kubernetes.*'relet export FILE --to karpenter'/,
    );
    expect(() => checkOwner({ ...unit, environmentFiles: environmentFiles.slice(1) })).not.toThrow();
  });
});
