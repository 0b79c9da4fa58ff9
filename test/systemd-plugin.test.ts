/** Credential plugins of kubeconfigs, run by a real systemd on behalf of an agent: `npm run test:systemd`. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { hostCommand, removeLeftFiles } from '../src/agent/drivers/systemd/host-command.js';
import { hostPlugin } from '../src/agent/drivers/systemd/host-plugin.js';
import { connectSystemd } from '../src/agent/drivers/systemd/systemd.js';
import { systemClock } from '../src/clock.js';
import { createExecPlugin } from '../src/kube/exec-plugin.js';
import type { ExecEntry } from '../src/kube/kubeconfig.js';
import { silentLog } from '../src/log.js';
import { systemRandom } from '../src/random.js';
import { eventually } from './eventually.js';
import { describeOnSystemd, type Machine } from './systemd-machine.js';

const unit = 'kubelet.service';
const unitText = `[Service]
Environment=PATH=/opt/plugins:/usr/bin:/bin A=unit B=unit C=unit
EnvironmentFile=/etc/kubelet.env
ExecStart=/bin/true
`;
const v1 = 'client.authentication.k8s.io/v1';
const secret = 'token-that-nobody-else-may-see';
const answer = (token: string, apiVersion = v1) =>
  `printf '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"%s"}}' "${token}"`;

interface Plugin extends Partial<ExecEntry> {
  script?: string;
  unitLines?: string;
  timeoutMs?: number;
}

/** `node-token` in the PATH of the kubelet's unit, and the credential that an agent gets from it. */
async function setUp(machine: Machine, { script, unitLines = '', timeoutMs, ...entry }: Plugin = {}) {
  mkdirSync(machine.path('/opt/plugins'), { recursive: true });
  rmSync(machine.path('/opt/plugins/node-token'), { force: true });
  if (script !== undefined)
    writeFileSync(machine.path('/opt/plugins/node-token'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  writeFileSync(machine.path('/etc/kubelet.env'), 'B=file\nC=file\nKUBERNETES_EXEC_INFO=file\n');
  writeFileSync(machine.path(`/etc/systemd/system/${unit}`), `${unitText}${unitLines}`);
  await machine.sh('systemctl daemon-reload');
  const { root } = machine;
  const systemd = connectSystemd({ root, clock: systemClock, log: silentLog });
  onTestFinished(() => systemd.close());
  const runPlugin = hostPlugin({ systemd, random: systemRandom, root, unit });
  const plugin = createExecPlugin({
    exec: { apiVersion: v1, interactiveMode: 'Never', command: 'node-token', ...entry },
    cluster: { server: 'https://k:6443' },
    userName: 'node',
    runPlugin: (program, signal) => runPlugin({ ...program, timeoutMs: timeoutMs ?? program.timeoutMs }, signal),
    env: {},
    clock: systemClock,
  });
  return { systemd, plugin };
}

const left = (machine: Machine) =>
  machine.sh('ls /run/relet/commands; systemctl list-units -q --all "relet-command-*"');

describeOnSystemd('a credential plugin', (machine) => {
  test('has the environment of the unit, then of its files, then of its entry, as root with umask 077', async () => {
    const { plugin } = await setUp(machine(), {
      script: answer('$A $B $C $(id -un) $(umask)'),
      env: [{ name: 'C', value: 'entry' }],
    });
    expect(await plugin.credential()).toEqual({ token: 'unit file entry root 0077' });
    expect(await left(machine())).toBe('');
  });

  test('runs as User= of the unit, with special characters in its variables and its arguments', async () => {
    const { plugin } = await setUp(machine(), {
      script: answer('$(id -un) $V $1'),
      unitLines: 'User=nobody\n',
      args: ['$HOME %n `id`'],
      env: [{ name: 'V', value: '$PATH `id` %n' }],
    });
    expect(await plugin.credential()).toEqual({ token: 'nobody $PATH `id` %n $HOME %n `id`' });
  });

  test.each(['v1', 'v1beta1'])('of protocol %s gets the request in that version', async (version) => {
    const apiVersion = `client.authentication.k8s.io/${version}`;
    const script = `echo "$KUBERNETES_EXEC_INFO" | grep -q '"apiVersion":"${apiVersion}".*"interactive":false' || exit 9\n${answer('t', apiVersion)}`;
    const { plugin } = await setUp(machine(), { script, apiVersion, interactiveMode: 'IfAvailable' });
    expect(await plugin.credential()).toEqual({ token: 't' });
  });

  test.each<[string, Plugin, string]>([
    ['fails', { script: 'echo no role >&2; exit 3' }, 'failed on the host with exit code 3: no role'],
    [
      'needs a file that is not there',
      { script: 'cat /etc/aws.json' },
      'exit code 1: cat: /etc/aws.json: No such file',
    ],
    ['hangs', { script: 'exec sleep 1000', timeoutMs: 1000 }, 'gave no answer in 1000 ms'],
    ['hangs, and ignores a stop', { script: 'trap "" TERM; while :; do :; done', timeoutMs: 1000 }, 'gave no answer'],
    ['prints something else', { script: 'head -c 100000 /dev/urandom' }, 'printed no JSON'],
    ['is not in the PATH', {}, 'is not in the PATH of kubelet.service on the host'],
    ['is not at its path', { command: '/opt/none' }, 'is not on the host'],
    ['cannot be executed', { command: '/etc/kubelet.env' }, 'cannot be executed on the host'],
    ['wants to prompt', { script: 'exit', interactiveMode: 'Always' }, 'standard input is not a terminal'],
    [
      'has a unit whose environment file is missing',
      { script: answer('t'), unitLines: 'EnvironmentFile=/etc/none.env\n' },
      'cannot be run with the environment of kubelet.service: /bin/sh: systemd could not start it (resources)',
    ],
  ])('that %s is an error that says it, and leaves nothing', async (_name, given, message) => {
    const { plugin } = await setUp(machine(), given);
    await expect(plugin.credential()).rejects.toThrow(message);
    expect(await left(machine())).toBe('');
  });

  test('while it runs, only root reads its variables and what it prints; afterwards neither is in the journal', async () => {
    const { plugin } = await setUp(machine(), {
      script: `${answer('$SECRET')}; touch /run/printed; until [ -e /run/gate ]; do sleep 0.1; done`,
      env: [{ name: 'SECRET', value: secret }],
    });
    const credential = plugin.credential();
    await eventually('it has printed', async () => (await machine().run('ls', '/run/printed')).code === 0);
    const service = await machine().sh('systemctl list-units -q --all --plain "relet-command-*" | cut -d" " -f1');
    const asNobody = (line: string) => machine().sh(`setpriv --reuid=65534 --clear-groups sh -c '${line}'`);
    expect(await asNobody(`systemctl show ${service}`)).not.toContain(secret);
    expect(await asNobody('cat /run/relet/commands/* /proc/[0-9]*/environ 2>/dev/null || true')).not.toContain(secret);
    expect(await machine().sh('stat -c %a /run/relet/commands/* | sort -u')).toBe('600');
    await machine().sh('touch /run/gate');
    expect(await credential).toEqual({ token: secret });
    expect(await machine().sh(`journalctl -q --no-pager --all | grep -c ${secret} || true`)).toBe('0');
    expect(await left(machine())).toBe('');
  });

  test('is stopped with the agent, and an agent that was killed meanwhile leaves a file only until the next start', async () => {
    const { systemd, plugin } = await setUp(machine(), { script: 'exec sleep 1000' });
    const stop = new AbortController();
    const credential = expect(plugin.credential(stop.signal)).rejects.toThrow('enough');
    const runs = async () => (await machine().sh('systemctl list-units -q "relet-command-*"')) !== '';
    await eventually('it runs', runs);
    const { root } = machine();
    await machine().sh(`echo ${secret} >/run/relet/commands/killed.out`);
    await removeLeftFiles({ systemd, root });
    expect(await machine().sh('ls /run/relet/commands | sed "s/.*\\.//"')).toBe('env\nerr\nout');
    stop.abort(new Error('enough'));
    await credential;
    await eventually(
      'it is stopped, and its files are removed',
      async () => !(await runs()) && !(await left(machine())),
    );
    expect((await hostCommand({ systemd, random: systemRandom, root })(['/bin/echo', 'a'], 5000)).stdout).toBe('a\n');
  });
});

const authenticator = process.env.AWS_IAM_AUTHENTICATOR;
const note = authenticator === undefined ? ' (skipped: AWS_IAM_AUTHENTICATOR does not name it)' : '';

describeOnSystemd(`aws-iam-authenticator${note}`, (machine) => {
  test.skipIf(authenticator === undefined)('gives the token of the host, with keys from the unit', async () => {
    mkdirSync(machine().path('/opt/plugins'), { recursive: true });
    copyFileSync(authenticator!, machine().path('/opt/plugins/aws-iam-authenticator'));
    const { plugin } = await setUp(machine(), {
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      command: 'aws-iam-authenticator',
      args: ['token', '-i', 'lab', '--region', 'eu-central-1'],
      unitLines: 'Environment=AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=not-a-key\n',
    });
    const [prefix, encoded = ''] = (await plugin.credential()).token!.split('.');
    const url = new URL(Buffer.from(encoded, 'base64url').toString());
    expect(prefix).toBe('k8s-aws-v1');
    expect(url.searchParams.get('Action')).toBe('GetCallerIdentity');
    expect(url.searchParams.get('X-Amz-Credential')).toMatch(/^AKIAIOSFODNN7EXAMPLE\/\d+\/eu-central-1\/sts\//);
    expect(url.searchParams.get('X-Amz-SignedHeaders')).toContain('x-k8s-aws-id');
  });
});
