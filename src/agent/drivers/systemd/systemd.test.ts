/** The calls to systemd, against a scripted one on its own socket. test/systemd.test.ts has a real one. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { reply, servePeer, signal } from '../../../../test/dbus-peer.js';
import { ManualClock } from '../../../../test/manual-clock.js';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { PluginFailure, type PluginProgram } from '../../../kube/exec-plugin.js';
import { silentLog } from '../../../log.js';
import { systemRandom } from '../../../random.js';
import { encodeMessage, type Message, variant } from './dbus-message.js';
import { hostCommand } from './host-command.js';
import { hostPlugin } from './host-plugin.js';
import { connectSystemd, type Systemd, unitPath } from './systemd.js';

const job = '/org/freedesktop/systemd1/job/7';
const jobRemoved = (unit: string, result: string) => signal('JobRemoved', '/', 'uoss', 7, job, unit, result);

async function setUp(answer: (socket: Socket, call: Message, root: string) => void) {
  const root = temporaryDir();
  mkdirSync(join(root, 'run/systemd'), { recursive: true });
  let last: Socket | undefined;
  await servePeer(join(root, 'run/systemd/private'), (socket, call) => {
    last = socket;
    if (call.member === 'Subscribe') socket.write(reply(call));
    else answer(socket, call, root);
  });
  const clock = new ManualClock();
  const systemd: Systemd = connectSystemd({ root, clock, log: silentLog });
  onTestFinished(() => systemd.close());
  return { root, clock, systemd, drop: () => last?.destroy(), send: (bytes: Buffer) => last?.write(bytes) };
}

describe('systemd', () => {
  test('a unit is read with what is loaded and what runs', async () => {
    const { systemd } = await setUp((socket, call) => {
      if (call.member === 'LoadUnit') return void socket.write(reply(call, 'o', '/unit'));
      const all = [
        ['ActiveState', variant('s', 'active')],
        ['InvocationID', variant('ay', [0xab, 0x01])],
        ['MainPID', variant('u', 42)],
        ['DropInPaths', variant('as', ['/run/a.conf'])],
        ['ExecStart', variant('a(sasbttttuii)', [['/k', ['/k', '--v=2'], false, 0, 0, 0, 0, 0, 0, 0]])],
        ['Environment', variant('as', ['A=1'])],
        ['EnvironmentFiles', variant('a(sb)', [['/etc/default/kubelet', true]])],
      ];
      socket.write(reply(call, 'a{sv}', all));
    });
    expect(await systemd.unit('kubelet.service')).toMatchObject({
      activeState: 'active',
      invocationId: 'ab01',
      mainPid: 42,
      dropInPaths: ['/run/a.conf'],
      execStart: [['/k', '--v=2']],
      environment: ['A=1'],
      environmentFiles: [{ path: '/etc/default/kubelet', optional: true }],
    });
  });

  test('units are listed by name', async () => {
    const { systemd } = await setUp((socket, call) =>
      socket.write(reply(call, 'a(ss)', [['/usr/lib/systemd/system/kubelet.service', 'enabled']])),
    );
    expect(await systemd.unitNames()).toEqual(['kubelet.service']);
  });

  test('a job that ends before the call is answered counts', async () => {
    const { systemd } = await setUp((socket, call) =>
      socket.write(Buffer.concat([reply(call, 'o', job), jobRemoved('kubelet.service', 'done')])),
    );
    expect(await systemd.stop('kubelet.service')).toBe('done');
  });

  test('a job that ends later is waited for, and others are not mistaken for it', async () => {
    const { systemd } = await setUp((socket, call) => {
      socket.write(reply(call, 'o', job));
      socket.write(signal('JobRemoved', '/', 'uoss', 6, '/other', 'kubelet.service', 'failed'));
      socket.write(jobRemoved('kubelet.service', 'timeout'));
    });
    expect(await systemd.start('kubelet.service')).toBe('timeout');
  });

  test('a connection that ends fails the call, is opened again, and listeners look again', async () => {
    const { systemd, clock, drop, send } = await setUp((socket, call) =>
      call.member === 'Reload' ? socket.write(reply(call)) : socket.destroy(),
    );
    await systemd.reload();
    let changes = 0;
    let noticed = () => {};
    systemd.watch('kubelet.service', () => {
      changes++;
      noticed();
    });
    const change = () => new Promise<void>((resolve) => (noticed = resolve));
    await expect(systemd.stop('kubelet.service')).rejects.toThrow('the connection ended');
    expect(changes).toBe(0);
    const reopened = change();
    await clock.untilSleeping((ms) => ms === 1000);
    await clock.advance(1000);
    await reopened;
    const later = change();
    send(signal('PropertiesChanged', unitPath('kubelet.service'), 's', 'x'));
    send(signal('PropertiesChanged', unitPath('other.service'), 's', 'x'));
    await later;
    expect(changes).toBe(2);
    drop();
  });

  test('a call without an answer fails after its time', async () => {
    const { systemd, clock } = await setUp(() => {});
    const failed = expect(systemd.manager()).rejects.toThrow('no answer');
    await clock.untilSleeping();
    await clock.advance(90_000);
    await failed;
  });

  test('a job whose end is not reported fails after its time', async () => {
    const { systemd, clock } = await setUp((socket, call) => socket.write(reply(call, 'o', job)));
    const failed = expect(systemd.start('kubelet.service')).rejects.toThrow('no answer');
    await clock.untilSleeping((ms) => ms === 90_000);
    await clock.advance(90_000);
    await failed;
  });

  test('an order that must not wait reaches systemd although the bus does not answer', async () => {
    const orders: unknown[] = [];
    const { systemd, root } = await setUp((socket, call) => {
      orders.push([call.member, call.body, call.destination]);
      socket.write(reply(call, 'o', job));
    });
    mkdirSync(join(root, 'run/dbus'));
    await servePeer(join(root, 'run/dbus/system_bus_socket'), () => {});
    await systemd.startNow('relet-rollback@trial.service');
    expect(orders).toEqual([['StartUnit', ['relet-rollback@trial.service', 'replace'], undefined]]);
  });

  test('an order that no socket takes fails with the reason of each', async () => {
    const systemd = connectSystemd({ root: '/nowhere', clock: new ManualClock(), log: silentLog });
    const failed = systemd.startNow('a.service').catch((error: AggregateError) => error.errors.map(String));
    expect(await failed).toEqual([
      expect.stringContaining('/run/systemd/private'),
      expect.stringContaining('/run/dbus/system_bus_socket'),
    ]);
  });

  test('a host without systemd is an error that names it', async () => {
    const systemd = connectSystemd({ root: '/nowhere', clock: new ManualClock(), log: silentLog });
    await expect(systemd.reload()).rejects.toThrow('is it the init system of this host');
  });

  test('a unit has the path that systemd gives it', () => {
    const path = '/org/freedesktop/systemd1/unit/';
    expect(unitPath('relet-rollback@trial.service')).toBe(`${path}relet_2drollback_40trial_2eservice`);
    expect(unitPath('0a.timer')).toBe(`${path}_30a_2etimer`);
  });
});

describe('a command on the host', () => {
  /** Files as they are when systemd starts the service. */
  const written: { mode: number; text: string }[] = [];
  const fileIn = (path: string) => ({ mode: statSync(path).mode & 0o777, text: readFileSync(path, 'utf8') });
  beforeEach(() => void written.splice(0));
  const setUpCommand = async (result: string, state: Record<string, [string, unknown]> = {}) => {
    const calls: Message[] = [];
    const { root, systemd } = await setUp((socket, call, root) => {
      calls.push(call);
      if (call.member === 'LoadUnit') return void socket.write(reply(call, 'o', '/unit'));
      if (call.member === 'GetAll') {
        const all = Object.entries(state).map(([name, [type, value]]) => [name, variant(type, value)]);
        return void socket.write(reply(call, 'a{sv}', all));
      }
      if (call.member !== 'StartTransientUnit') return void socket.write(reply(call));
      const [name, , properties] = call.body as [string, string, [string, unknown][]];
      const { StandardOutputFile: out, StandardErrorFile: err } = Object.fromEntries(properties);
      written.push(
        ...readdirSync(dirname(`${root}${out}`)).map((file) => fileIn(`${root}${dirname(String(out))}/${file}`)),
      );
      writeFileSync(`${root}${out}`, 'Kubernetes v1.32.1\n');
      writeFileSync(`${root}${err}`, 'flag deprecated');
      socket.write(Buffer.concat([reply(call, 'o', job), jobRemoved(name, result)]));
    });
    const parts = { systemd, random: systemRandom, root };
    return { root, calls, run: hostCommand(parts), runPlugin: hostPlugin({ ...parts, unit: 'kubelet.service' }) };
  };
  const propertiesOf = ({ body }: Message) => Object.fromEntries(body[2] as [string, unknown][]);

  test('returns its output and leaves no file', async () => {
    const { root, calls, run } = await setUpCommand('done');
    expect(await run(['/usr/bin/kubelet', '--v=$HOME'], 5000)).toEqual({
      code: 0,
      stdout: 'Kubernetes v1.32.1\n',
      stderr: 'flag deprecated',
    });
    expect(propertiesOf(calls[0]!)).toMatchObject({
      ExecStart: [['/usr/bin/kubelet', ['/usr/bin/kubelet', '--v=$$HOME'], false]],
      TimeoutStartUSec: 5_000_000,
    });
    expect(readdirSync(join(root, 'run/relet/commands'))).toEqual([]);
  });

  test.each<[string, Record<string, [string, unknown]>, number | null]>([
    ['its exit code', { Result: ['s', 'exit-code'], ExecMainCode: ['i', 1], ExecMainStatus: ['i', 3] }, 3],
    ['none after its time', { Result: ['s', 'timeout'], ExecMainCode: ['i', 2], ExecMainStatus: ['i', 15] }, null],
  ])('that fails has %s', async (_name, state, code) => {
    const { run, calls } = await setUpCommand('failed', state);
    expect((await run(['/bin/x'], 1000)).code).toBe(code);
    expect(calls.at(-1)?.member).toBe('ResetFailedUnit');
  });

  test('that cannot be started is an error', async () => {
    const { run } = await setUpCommand('failed', { Result: ['s', 'exit-code'], ExecMainStatus: ['i', 203] });
    await expect(run(['/bin/x'], 1000)).rejects.toThrow('/bin/x: cannot be started');
  });

  const unit: Record<string, [string, unknown]> = {
    Environment: ['as', ['PATH=/opt/bin:/usr/bin']],
    EnvironmentFiles: ['a(sb)', [['/etc/eks/kubelet/environment', true]]],
    User: ['s', 'kubelet'],
  };
  const plugin: PluginProgram = {
    command: 'aws',
    args: ['eks', 'get-token', '--role=$ROLE'],
    variables: { AWS_REGION: 'eu', KUBERNETES_EXEC_INFO: '{"a":"$HOME `id`"}' },
    interactive: false,
    timeoutMs: 5000,
  };

  test('that is a credential plugin runs with the environment, the PATH and the user of the kubelet', async () => {
    const { root, calls, runPlugin } = await setUpCommand('done', unit);
    expect(await runPlugin(plugin, AbortSignal.timeout(5000))).toBe('Kubernetes v1.32.1\n');
    const properties = propertiesOf(calls.find(({ member }) => member === 'StartTransientUnit')!);
    expect(properties).toMatchObject({ Environment: ['PATH=/opt/bin:/usr/bin'], User: 'kubelet', UMask: 0o077 });
    const [, words] = (properties.ExecStart as [string, string[]][])[0]!;
    expect(words.slice(3)).toEqual(['aws', 'eks', 'get-token', '--role=$$ROLE']);
    expect(properties.EnvironmentFiles).toEqual([
      ['/etc/eks/kubelet/environment', true],
      [expect.stringMatching(/^\/run\/relet\/commands\/.*\.env$/), false],
    ]);
    expect(readdirSync(join(root, 'run/relet/commands'))).toEqual([]);
  });

  test('that is a credential plugin has its variables in a file that only root can read, and not on D-Bus', async () => {
    const { calls, runPlugin } = await setUpCommand('done', unit);
    await runPlugin(plugin, AbortSignal.timeout(5000));
    expect(JSON.stringify(calls.map(({ body }) => body))).not.toContain('KUBERNETES_EXEC_INFO');
    expect(written.map(({ mode }) => mode)).toEqual([0o600, 0o600, 0o600]);
    const [text] = written.map(({ text }) => text).filter((text) => text !== '');
    expect(text).toBe('AWS_REGION="eu"\nKUBERNETES_EXEC_INFO="{\\"a\\":\\"\\$HOME \\`id\\`\\"}"\n');
  });

  test.each<[string, Record<string, [string, unknown]>, string]>([
    ['is missing on the host', { ExecMainStatus: ['i', 127] }, 'is not in the PATH of kubelet.service on the host'],
    ['is not executable', { ExecMainStatus: ['i', 126] }, 'cannot be executed on the host'],
    ['fails', { ExecMainStatus: ['i', 3] }, 'failed on the host with exit code 3: flag deprecated'],
    ['hangs', { Result: ['s', 'timeout'] }, 'gave no answer in 5000 ms'],
  ])('that is a credential plugin and %s is an error that says it', async (_name, state, why) => {
    const failed: Record<string, [string, unknown]> = { Result: ['s', 'exit-code'], ExecMainCode: ['i', 1] };
    const { runPlugin } = await setUpCommand('failed', { ...unit, ...failed, ...state });
    await expect(runPlugin(plugin, AbortSignal.timeout(5000))).rejects.toSatisfy(
      (error) => error instanceof PluginFailure && error.message === why,
    );
  });

  test('of a unit that systemd rejects is an error with its words', async () => {
    const error: Message = { kind: 'error', serial: 1, errorName: 'a.b', signature: 's', body: ['Unit exists.'] };
    const { systemd } = await setUp((socket, { serial }) => socket.write(encodeMessage({ ...error, replyTo: serial })));
    await expect(systemd.startTransient({ name: 'a.service', properties: [] })).rejects.toThrow('Unit exists.');
  });
});
