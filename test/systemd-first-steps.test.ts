/**
 * docs/eks-and-k3s.md, command by command, on a real systemd: the host is laid out as nodeadm or k3s does it, with stand-ins for the
 * kubelet, `aws` and k3s; a transient service with the mounts of the DaemonSet is the pod. `npm run test:systemd`.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readTokenFile } from '../src/lab/apiserver/access/token-file.js';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { freePort } from './free-port.js';
import { readBlocks } from './page-blocks.js';
import { executable } from './run-relet.js';
import { describeOnSystemd, type Machine } from './systemd-machine.js';
import { SystemdRig } from './systemd-rig.js';

const repository = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(repository, file), 'utf8');
const page = read('docs/eks-and-k3s.md');
const service = 'relet-agent.service';
const token = 'k8s-aws-v1.stand-in';

interface Values {
  agent: { hostPaths: { kubeconfig: string }; extraHostPaths: string[] };
}
interface Mount {
  name: string;
  mountPath: string;
  readOnly?: boolean;
}
interface Volume {
  name: string;
  hostPath?: { path: string; type: string };
}

/** The path of a host, as its heading names it. */
function pathOf(heading: string): { values: Values; commands: string[] } {
  const blocks = readBlocks(page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))!);
  const values = blocks.flatMap((block) => (block.kind === 'file' ? [parse(block.text) as Values] : []))[0]!;
  const commands = blocks.flatMap((block) => (block.kind === 'commands' ? block.commands : []));
  const lines = commands.flatMap(({ command }) => command.trim().split('\n'));
  return { values, commands: lines.map((line) => line.replaceAll('NODE', 'node-a')) };
}

/** Properties of a service that sees of the host what the pod of these values does. */
async function podProperties(machine: Machine, { agent }: Values): Promise<string> {
  const documents = parseAllDocuments(read('deploy/agent/agent.yaml')).map((document) => document.toJS());
  const { spec } = documents.find(({ kind }) => kind === 'DaemonSet').spec.template;
  const kubeconfig = { hostPath: { path: agent.hostPaths.kubeconfig, type: 'File' } };
  const extra = agent.extraHostPaths.map((path) => ({ name: path, mountPath: path, readOnly: true }));
  const mounts: Mount[] = [...spec.containers[0].volumeMounts, ...extra];
  const volumes: Volume[] = [
    ...spec.volumes,
    ...agent.extraHostPaths.map((path) => ({ name: path, hostPath: { path, type: 'Directory' } })),
  ];
  const binds: string[] = [];
  for (const { name, mountPath, readOnly } of mounts) {
    const isKubeconfig = name === 'kubeconfig';
    const { hostPath } = isKubeconfig ? kubeconfig : volumes.find((volume) => volume.name === name)!;
    if (hostPath === undefined) continue;
    const { path, type } = hostPath;
    if (type === 'DirectoryOrCreate') await machine.sh(`mkdir -p ${path}`);
    binds.push(`-p ${readOnly ? 'BindReadOnlyPaths' : 'BindPaths'}=${path}:${isKubeconfig ? path : mountPath}`);
  }
  await machine.sh(
    'mkdir -p /pod/tmp && cd /pod && ln -sfn usr/bin bin && ln -sfn usr/lib lib && ln -sfn usr/lib64 lib64',
  );
  const image = ['/usr', '/opt/relet'].map((path) => `-p BindReadOnlyPaths=${path}`).join(' ');
  return `-p RootDirectory=/pod -p MountAPIVFS=yes -E KUBERNETES_SERVICE_HOST=10.0.0.1 ${image} ${binds.join(' ')}`;
}

const agent = '/usr/bin/node /opt/relet/bin/relet.cjs agent --metrics-bind-address=0 --trial-duration=1s';

/** Commands that a person confirms. */
const asks = new Set(['set', 'reset', 'detach']);

/** Runs a command of the page: kubectl and relet as they are, Helm and `kubectl exec` by stand-ins. */
async function run(command: string, machine: Machine, { values, cluster }: { values: Values; cluster: ClusterRig }) {
  if (command.startsWith('helm install relet-crds')) return '';
  if (command.startsWith('helm install relet ')) {
    await machine.sh(`systemd-run -q --unit=${service} ${await podProperties(machine, values)} ${agent}`);
    onTestFinished(async () => void (await machine.run('systemctl', 'stop', service)));
    await cluster.until('the agent has reported', () => cluster.config !== undefined);
    return '';
  }
  if (command.startsWith('helm uninstall')) return machine.sh(`systemctl stop ${service}`);
  if (command.startsWith('kubectl exec'))
    return machine.sh(`systemd-run -q --wait --pipe ${await podProperties(machine, values)} ${agent} --check`);
  const env = { PATH: process.env.PATH, HOME: dirname(cluster.nodeKubeconfig), KUBECONFIG: cluster.server.kubeconfig };
  const words = command.split(' ');
  const [program, args] =
    words[0] === 'relet'
      ? [process.execPath, [executable, ...words.slice(1), ...(asks.has(words[1]!) ? ['--yes'] : [])]]
      : [words[0]!, words.slice(1)];
  return new Promise<string>((resolve, reject) => {
    execFile(program, args, { env }, (error, stdout, stderr) => {
      const exists = stderr.includes('namespaces "relet-system" already exists');
      if (error === null || exists) resolve(stdout);
      else reject(new Error(`${command}: ${stderr}${stdout}`));
    });
  });
}

async function walk(heading: string, machine: Machine, cluster: ClusterRig): Promise<Record<string, string>> {
  const { values, commands } = pathOf(heading);
  const outputs: Record<string, string> = {};
  for (const command of commands) {
    const output = await run(command, machine, { values, cluster }).catch(async (cause) => {
      const journal = await machine.sh(`journalctl -q --no-pager -o cat -u ${service} | tail -n 40`);
      throw new Error(`${command}\n${journal}`, { cause });
    });
    outputs[command.split(' ').slice(0, 2).join(' ')] = output;
  }
  return outputs;
}

function write(machine: Machine, path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(machine.path(path)), { recursive: true });
  writeFileSync(machine.path(path), text, { mode });
}

const relets = (machine: Machine) =>
  machine.sh('ls -d /etc/systemd/system/*relet* /etc/systemd/system/*/*relet* /var/lib/relet/good 2>/dev/null || true');

describeOnSystemd('docs/eks-and-k3s.md', (machine) => {
  test('EKS: from nothing to a changed node and back, with the program of the kubeconfig on the host', async () => {
    const tokens = [readTokenFile(`${token},system:node:node-a,,system:nodes\n`, 'tokens')];
    const cluster = await createClusterRig({ boot: false, through: 'NodeConfig', server: { tokens } });
    const [ca] = parse(readFileSync(cluster.nodeKubeconfig, 'utf8')).clusters;
    write(
      machine(),
      '/etc/kubernetes/pki/ca.crt',
      Buffer.from(ca.cluster['certificate-authority-data'], 'base64').toString(),
    );
    const kubeconfig = {
      clusters: [
        {
          name: 'kubernetes',
          cluster: { 'certificate-authority': '/etc/kubernetes/pki/ca.crt', server: cluster.server.url },
        },
      ],
      contexts: [{ name: 'kubelet', context: { cluster: 'kubernetes', user: 'kubelet' } }],
      'current-context': 'kubelet',
      users: [
        {
          name: 'kubelet',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1beta1',
              command: 'aws',
              args: ['eks', 'get-token', '--cluster-name', 'lab', '--region', 'eu-central-1'],
            },
          },
        },
      ],
    };
    write(machine(), '/var/lib/kubelet/kubeconfig', JSON.stringify(kubeconfig));
    const answer = JSON.stringify({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      spec: {},
      status: { expirationTimestamp: '2099-01-01T00:00:00Z', token },
    });
    write(
      machine(),
      '/usr/local/bin/aws',
      `#!/bin/sh\n[ "$*" = "eks get-token --cluster-name lab --region eu-central-1" ] && echo '${answer}'\n`,
      0o755,
    );
    write(machine(), '/sbin/iptables', '#!/bin/sh\n', 0o755);
    write(machine(), '/usr/bin/kubelet', read('test/fake-kubelet.mjs'), 0o755);
    const port = await freePort();
    const config = {
      kind: 'KubeletConfiguration',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      maxPods: 29,
      healthzPort: port,
    };
    write(machine(), '/etc/kubernetes/kubelet/config.json', JSON.stringify(config));
    mkdirSync(machine().path('/etc/kubernetes/kubelet/config.json.d'), { recursive: true });
    const flags =
      '--config=/etc/kubernetes/kubelet/config.json --config-dir=/etc/kubernetes/kubelet/config.json.d --kubeconfig=/var/lib/kubelet/kubeconfig';
    write(
      machine(),
      '/etc/eks/kubelet/environment',
      `NODEADM_KUBELET_ARGS="${flags} --hostname-override=node-a --healthz-port=${port}"\n`,
    );
    write(machine(), '/etc/systemd/system/kubelet.service', read('test/fixtures/units/eks-al2023.txt'));
    await machine().sh('systemctl daemon-reload && systemctl restart kubelet');
    onTestFinished(
      async () => void (await machine().sh('systemctl stop kubelet && rm /etc/systemd/system/kubelet.service')),
    );
    const before = await machine().sh('systemctl cat kubelet');
    const outputs = await walk('EKS', machine(), cluster);
    expect(outputs['kubectl exec']).toContain('unit:     kubelet.service, as EKS sets it up');
    expect(outputs['kubectl exec']).toContain(
      'plugin:   aws, run on the host by systemd: it gave the credential of system:node:node-a',
    );
    expect(outputs['relet describe']).toContain('maxPods');
    expect(await relets(machine())).toBe('');
    expect(await machine().sh('systemctl cat kubelet')).toBe(before);
  });

  test('k3s: from nothing to a changed node and back', async () => {
    const rig = await SystemdRig.create(machine(), { restartSec: 1, embedding: 'k3s' });
    await rig.driver.close();
    const cluster = await createClusterRig({ boot: false, through: 'NodeConfig' });
    const { clusters, users } = parse(readFileSync(cluster.nodeKubeconfig, 'utf8'));
    const dir = '/var/lib/rancher/k3s/agent';
    const pem = (text: string) => Buffer.from(text, 'base64').toString();
    write(machine(), `${dir}/server-ca.crt`, pem(clusters[0].cluster['certificate-authority-data']));
    write(machine(), `${dir}/client-kubelet.crt`, pem(users[0].user['client-certificate-data']));
    write(machine(), `${dir}/client-kubelet.key`, pem(users[0].user['client-key-data']), 0o600);
    const kubeconfig = {
      clusters: [
        { name: 'local', cluster: { server: cluster.server.url, 'certificate-authority': `${dir}/server-ca.crt` } },
      ],
      users: [
        {
          name: 'user',
          user: { 'client-certificate': `${dir}/client-kubelet.crt`, 'client-key': `${dir}/client-kubelet.key` },
        },
      ],
      contexts: [{ name: 'Default', context: { cluster: 'local', user: 'user' } }],
      'current-context': 'Default',
    };
    write(machine(), `${dir}/kubelet.kubeconfig`, JSON.stringify(kubeconfig));
    const outputs = await walk('k3s', machine(), cluster);
    expect(outputs['kubectl exec']).toContain('unit:     k3s.service, as k3s sets it up');
    expect(cluster.seen?.status.conditions?.find(({ type }) => type === 'UnitOK')).toMatchObject({ status: 'True' });
    expect(await machine().sh(`ls ${dir}/etc/kubelet.conf.d`)).toBe('00-k3s-defaults.conf');
    expect(rig.starts().map(({ config }) => /maxPods: \d+/.exec(config)?.[0])).toEqual([
      undefined,
      'maxPods: 58',
      undefined,
    ]);
    expect(await relets(machine())).toBe('');
  });
});
