/** Whole relet processes for tests, each with a directory of its own and a fake kubelet that writes down its starts. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { NodeConfigStatus } from '../src/api/config-ref.js';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { type Exit, Program, sendSignal } from './program.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

export const fakeKubelet = join(import.meta.dirname, 'fake-kubelet.mjs');

export interface Started {
  process: Program;
  dir: string;
  output(): string;
  starts(): { pid: number; args: string[]; config: string; env: Record<string, string> }[];
  /** Calls of the kubelet's binary that did not start a kubelet. */
  questions(): { asked: string; env: Record<string, string> }[];
  exit: Promise<Exit>;
}

export interface Place {
  dir: string;
  port: number;
  /** Environment of relet, beside the test's own. */
  env?: Record<string, string>;
  /** Default: the fake one. */
  kubelet?: string;
  /** Default: the one that `npm run build` made. */
  relet?: string;
  /** Working directory of relet. Default: that of the test. */
  cwd?: string;
}

export async function newPlace(): Promise<Place> {
  const root = temporaryDir();
  return { dir: join(root, 'dynamic-config'), port: await freePort() };
}

export function start(place: Place, ...more: string[]): Started {
  const { dir, port, env = {}, kubelet = fakeKubelet, relet = executable, cwd } = place;
  const log = join(dir, '..', 'starts');
  const args = [
    'kubelet',
    `--kubelet-binary=${kubelet}`,
    // A real one has it in its config, where a test may change it. A fake one serves nowhere.
    ...(kubelet === fakeKubelet ? [`--healthz-port=${port}`, '--enable-server=false'] : []),
    '--metrics-bind-address=0',
    ...more,
  ];
  const program = new Program(process.execPath, [relet, ...args], {
    cwd,
    env: { ...process.env, ...env, FAKE_KUBELET_LOG: log },
  });
  // A line without its end is still being written.
  const lines = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  const starts = () => lines().filter((line) => line.args);
  const questions = () => lines().filter((line) => line.asked);
  onTestFinished(async () => {
    program.kill('SIGTERM');
    await program.exited;
    for (const { pid } of starts()) if (isAlive(pid)) sendSignal(pid, 'SIGKILL');
  });
  return { process: program, dir, output: () => program.output, starts, questions, exit: program.exited };
}

export const withDir = (place: Place, rig: ClusterRig, ...more: string[]) =>
  start(
    place,
    `--dynamic-config-dir=${place.dir}`,
    `--kubeconfig=${rig.nodeKubeconfig}`,
    '--trial-duration=500ms',
    ...more,
  );

/** A cluster, and relet as a process on its node, which has reported. */
export async function startOnCluster(...flags: string[]) {
  const rig = await createClusterRig({ boot: false });
  const place = await newPlace();
  const running = withDir(place, rig, ...flags);
  await rig.until('first status', () => rig.config !== undefined);
  return { rig, place, running };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that nobody waits for has ended all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export const until = (what: string, satisfied: () => boolean, seen: () => string): Promise<boolean> =>
  eventually(what, satisfied, { seen });

export const config = (port: number, ...lines: string[]) =>
  `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nhealthzPort: ${port}\n${lines.map((line) => `${line}\n`).join('')}`;
export const status = (rig: ClusterRig): NodeConfigStatus => rig.config ?? {};
