/**
 * `run.mjs --driver=systemd`: one change in attached mode beside a bare `systemctl restart` and beside the process driver, with the
 * same kubelet (the hollow one). A machine with systemd as PID 1 is booted in a container: SYSTEMD_ROOT names a root directory with
 * systemd and dbus (debootstrap), and systemd-nspawn and root are needed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as rig from './rig.mjs';

const unit = 'kubelet.service';
const logFile = '/var/log/relet-agent.log';
const repository = join(import.meta.dirname, '../..');

/** Boots the machine; `run` runs a program on it, `path` is where its files are. Ended with the bench. */
async function boot(root, dir, shared) {
  for (const name of ['root', 'upper', 'work']) mkdirSync(join(dir, name));
  const layers = `lowerdir=${root},upperdir=${join(dir, 'upper')},workdir=${join(dir, 'work')}`;
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, join(dir, 'root')]);
  rig.atEnd(() => execFileSync('umount', ['-l', join(dir, 'root')]));
  const args = ['--quiet', '--register=no', '--keep-unit', '--boot', '--console=pipe', '--capability=all'];
  const binds = [
    `--bind-ro=${process.execPath}:/usr/bin/node`,
    `--bind-ro=${repository}:/opt/relet`,
    ...shared.map((path) => `--bind=${path}`),
  ];
  const others = ['--resolv-conf=off', '--timezone=off', '--link-journal=no', '--system-call-filter=@known'];
  const unified = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '1' : '0';
  const nspawn = spawn('systemd-nspawn', [...args, ...others, ...binds, '-D', join(dir, 'root')], {
    stdio: 'ignore',
    env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: unified },
  });
  const leader = () => Number(readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8').split(' ')[0]);
  rig.atEnd(async () => {
    process.kill(leader(), 'SIGKILL');
    await new Promise((resolve) => nspawn.once('exit', resolve));
  });
  const run = (...command) =>
    execFileSync('nsenter', ['-t', `${leader()}`, '-m', '-u', '-i', '-p', '-r', '-w', '--', ...command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const isUp = async () => /^(running|degraded)/.test(run('sh', '-c', 'systemctl is-system-running || true'));
  await rig.until('the machine is up', isUp);
  return { run, path: (path) => `/proc/${leader()}/root${path}` };
}

/** The kubelet in a unit as kubeadm has it. */
async function startKubelet(machine, node) {
  writeFileSync(
    machine.path('/usr/bin/kubelet'),
    '#!/bin/sh\nexec /usr/bin/node /opt/relet/bin/relet.cjs hollow-kubelet "$@"\n',
  );
  chmodSync(machine.path('/usr/bin/kubelet'), 0o755);
  const lines = [
    '[Unit]',
    'StartLimitIntervalSec=0',
    '[Service]',
    `ExecStart=/usr/bin/kubelet ${node.kubeletFlags.join(' ')}`,
    'Restart=always',
    'RestartSec=10',
  ];
  writeFileSync(machine.path(`/etc/systemd/system/${unit}`), `${lines.join('\n')}\n`);
  machine.run('systemctl', 'daemon-reload');
  machine.run('systemctl', 'start', unit);
  await rig.healthy(node.healthzPort);
}

/** `systemctl restart` to /healthz: what a change costs at least. */
async function restarts(machine, node, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    await rig.sleep(300);
    const from = rig.now();
    machine.run('systemctl', 'restart', unit);
    await rig.healthy(node.healthzPort);
    times.push(rig.now() - from);
  }
  return times;
}

function startAgent(machine) {
  const output = ['-p', `StandardOutput=append:${logFile}`, '-p', `StandardError=append:${logFile}`];
  const agent = [
    'agent',
    '--trial-duration=1s',
    '--restart-interval=0s',
    '--metrics-bind-address=0',
    '--log-format=json',
  ];
  machine.run(
    'systemd-run',
    '-q',
    '--unit=relet-agent',
    ...output,
    '/usr/bin/node',
    '/opt/relet/bin/relet.cjs',
    ...agent,
  );
}

/** When the agent logged each of these since `from`, in ms of the wall clock. */
function logged(machine, from, messages) {
  const lines = readFileSync(machine.path(logFile), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const since = lines.map((line) => JSON.parse(line)).filter(({ time }) => Date.parse(time) >= from);
  return messages.map((message) => Date.parse(since.find(({ msg }) => msg === message)?.time));
}

const steps = ['config assigned', 'trial drop-in installed', 'kubelet runs'];
const names = ['PATCH to validated', 'drop-in and daemon-reload', 'stop and start', 'first healthy answer, reported'];

/** PATCH to active, in parts. */
async function changes(machine, { admin, node, seen }, count) {
  const [times, parts] = [[], names.map(() => [])];
  for (let i = 0; i < count; i++) {
    const name = `systemd-${i}`;
    await admin.configMap(name, { kubelet: node.config(`maxPods: ${60 + i}`) });
    // The trial of the one before ends, and is kept, outside of what is measured.
    await rig.sleep(4000);
    const from = Date.now();
    const patchedAt = rig.now();
    await admin.point(name);
    const active = await seen.until(name, ({ status }) => status.config?.active?.configMap.name === name);
    times.push(active - patchedAt);
    const at = [from, ...logged(machine, from, steps), from + (active - patchedAt)];
    for (const [which, list] of parts.entries()) list.push(at[which + 1] - at[which]);
  }
  return { times, parts };
}

export async function systemdBench(server, dir, { kubeconfig, count, idleSeconds, ms, say, processDriver }) {
  const [root] = (process.env.SYSTEMD_ROOT ?? '').split(':');
  if (!root) throw new Error('SYSTEMD_ROOT is not set: it names a root directory with systemd and dbus');
  const own = join(dir, 'machine');
  mkdirSync(join(own, 'node'), { recursive: true });
  const node = await rig.newNode(join(own, 'node'), kubeconfig(join(own, 'node', 'kubeconfig')));
  const machine = await boot(root, own, [node.dir, server.pki]);
  say(machine.run('systemctl', '--version').split('\n')[0]);
  await startKubelet(machine, node);
  const bare = await restarts(machine, node, count);
  say(`systemctl restart alone, to /healthz: ${ms(bare)}`);
  startAgent(machine);
  const seen = await server.admin.watchNode();
  await seen.until('local active', ({ status }) => status.conditions?.some(({ type }) => type === 'ConfigOK'));
  const { times, parts } = await changes(machine, { admin: server.admin, node, seen }, count);
  say(`PATCH to active, systemd driver: ${ms(times)}`);
  for (const [which, name] of names.entries()) say(`  ${name}: ${ms(parts[which])}`);
  say(`  on top of systemctl restart: ${(rig.median(times) - rig.median(bare)).toFixed(0)} ms (want <= 700 ms)`);
  await idleAgent(machine, idleSeconds, say);
  machine.run('systemctl', 'stop', 'relet-agent', unit);
  await server.admin.point(null);
  await processDriver();
}

async function idleAgent(machine, seconds, say) {
  if (seconds === 0) return;
  await rig.sleep(5000);
  const pid = machine.run('systemctl', 'show', '--value', '-p', 'MainPID', 'relet-agent');
  const proc = machine.path('/proc');
  const before = rig.cpuMs(pid, proc);
  await rig.sleep(seconds * 1000);
  const used = rig.cpuMs(pid, proc) - before;
  say(`agent, idle: ${rig.show(rig.memory(pid, proc))} (want <= 50 resident, <= 15 anonymous)`);
  say(`agent, idle: ${((used / seconds / 1000) * 100).toFixed(3)} % CPU over ${seconds} s (want < 0.1 %)`);
}
