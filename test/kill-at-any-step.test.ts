/** relet and the hollow kubelet as whole processes: whenever relet is killed, the node keeps running, and never with two kubelets. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { freePort } from './free-port.js';
import { config, isAlive, newPlace, type Place, status, until, withDir } from './process-rig.js';
import { sendSignal } from './program.js';

/** A node with a hollow kubelet, watched all the time for a second one. */
async function createNode() {
  const rig = await createClusterRig({ boot: false });
  const place = await newPlace();
  const rootDir = join(place.dir, '..', 'kubelet');
  const flags = [
    '--kubelet-binary=hollow',
    `--root-dir=${rootDir}`,
    `--cert-dir=${join(rootDir, 'pki')}`,
    '--hostname-override=node-a',
    '--address=127.0.0.1',
    `--port=${await freePort()}`,
  ];
  const kubelets = () => pids().filter((pid) => isKubelet(pid, rootDir) && isAlive(pid));
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, kubelets().length);
  }, 20);
  onTestFinished(() => {
    clearInterval(watch);
    for (const pid of kubelets()) sendSignal(pid, 'SIGKILL');
  });
  const start = (...more: string[]) => withDir(place, rig, ...flags, ...more);
  return { rig, place, kubelets, mostAtOnce: () => most, start };
}

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Whether the process is a kubelet that runs, not one that is only started for its version or for validation. */
function isKubelet(pid: number, rootDir: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const isAsked = words.some((word) => word === '--version' || word.startsWith('--lock-file='));
    return words.includes('hollow-kubelet') && words.includes(`--root-dir=${rootDir}`) && !isAsked;
  } catch {
    return false;
  }
}

/** From the mask of signals that a process has handlers for. Node itself has one for SIGTERM, so SIGHUP is what counts. */
function handlesSignals(pid: number): boolean {
  const mask = /^SigCgt:\s+([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${mask}`) & 1n) !== 0n;
}

async function assign(rig: ClusterRig, place: Place, name: string, maxPods: number): Promise<string> {
  const { metadata } = await rig.createConfigMap(name, { kubelet: config(place.port, `maxPods: ${maxPods}`) });
  await rig.point(name);
  return metadata.uid!;
}

describe('kill -9 of relet', () => {
  test.each([
    ['before the kubelet is first started', 'kubeconfig loaded'],
    ['when a config was assigned', 'config assigned'],
    ['while the kubelet is stopped', 'kubelet restarts'],
    ['between two kubelets', 'kubelet ended'],
    ['right after a start', 'kubelet started .*checkpoints'],
    ['at the end of the trial', 'trial passed config="/api'],
  ])('%s', async (_when, line) => {
    const { rig, place, kubelets, mostAtOnce, start } = await createNode();
    const first = start();
    if (line !== 'kubeconfig loaded') await rig.until('first status', () => rig.config !== undefined);
    const uid = await assign(rig, place, 'good', 33);
    await until(line, () => new RegExp(line).test(first.output()), first.output);
    first.process.kill('SIGKILL');
    await first.exit;
    expect(kubelets().length).toBeLessThanOrEqual(1);
    const second = start();
    await until('kubelet started', () => second.output().includes('kubelet started'), second.output);
    await rig.until('last known good', () => status(rig).lastKnownGood?.configMap?.uid === uid);
    expect(status(rig)).toMatchObject({ assigned: { configMap: { uid } }, active: { configMap: { uid } } });
    expect(status(rig).error).toBeUndefined();
    expect(kubelets()).toHaveLength(1);
    second.process.kill('SIGTERM');
    expect(await second.exit).toEqual({ code: 0, signal: null });
    expect(kubelets()).toEqual([]);
    expect(mostAtOnce()).toBe(1);
    expect(existsSync(join(place.dir, 'meta', 'child'))).toBe(false);
  });
});

describe('the end of relet', () => {
  test('SIGTERM as soon as it can hear anything ends the kubelet that a relet killed before it left', async () => {
    const { rig, place, kubelets, mostAtOnce, start } = await createNode();
    const first = start();
    await rig.until('first status', () => rig.config !== undefined);
    first.process.kill('SIGKILL');
    await first.exit;
    expect(kubelets()).toHaveLength(1);
    const second = start();
    await until('signals are handled', () => handlesSignals(second.process.pid), second.output);
    second.process.kill('SIGTERM');
    expect(await second.exit).toEqual({ code: 0, signal: null });
    // One may have been started before the signal came; it must be gone as well.
    expect(kubelets()).toEqual([]);
    expect(mostAtOnce()).toBe(1);
    expect(readdirSync(join(place.dir, 'meta')).filter((name) => name === 'child' || name === 'lock')).toEqual([]);
  });

  test('SIGTERM in the middle of a change ends the kubelet too, and the next start has the new config', async () => {
    const { rig, place, kubelets, start } = await createNode();
    const first = start();
    await rig.until('first status', () => rig.config !== undefined);
    const uid = await assign(rig, place, 'good', 34);
    await until('restart', () => first.output().includes('kubelet restarts'), first.output);
    first.process.kill('SIGTERM');
    expect((await first.exit).signal).toBeNull();
    expect(kubelets()).toEqual([]);
    start();
    await rig.until('active', () => status(rig).active?.configMap?.uid === uid);
    expect(kubelets()).toHaveLength(1);
  });

  test('with --on-change=exit a kubelet that dies gives relet its own exit code', async () => {
    const { start, kubelets } = await createNode();
    const node = start('--on-change=exit', '--hollow-fail=die-after=100ms');
    expect(await node.exit).toEqual({ code: 1, signal: null });
    expect(kubelets()).toEqual([]);
  });
});
