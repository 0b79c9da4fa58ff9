/**
 * Measures the CPU of the sampler on this host, with the real /proc and cgroups: two processes on the same timer, of which one samples.
 * `--pods=N` cgroups of pods, as a kubelet with cgroupfs makes them, are there meanwhile; that needs root.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import * as rig from './rig.mjs';

const src = join(import.meta.dirname, '../../src');
const source = `
  import { hostSignals } from '${src}/cli/node/host-signals.ts';
  import { NodeState } from '${src}/agent/state/node-state.ts';
  import { silentLog } from '${src}/log.ts';
  import { systemClock as clock } from '${src}/clock.ts';
  const [what, dir] = process.argv.slice(2);
  const state = new NodeState(dir, silentLog);
  const sampler = hostSignals({ state, bootId: 'bench', unit: 'kubelet.service' });
  const never = new AbortController().signal;
  console.log('ready');
  if (what === 'samples') await sampler.run(() => '', never);
  else for (;;) await clock.sleep(60_000, never);
`;

export async function samplerBench(seconds, pods, say) {
  const dir = mkdtempSync(join(tmpdir(), 'relet-sampler-'));
  rig.atEnd(() => rmSync(dir, { recursive: true, force: true }));
  const bundle = join(dir, 'sampler.mjs');
  const stdin = { contents: source, resolveDir: src, loader: 'ts' };
  await build({ stdin, bundle: true, platform: 'node', format: 'esm', outfile: bundle, logLevel: 'error' });
  for (let at = 0; at < pods; at++) podCgroup(`/kubepods/burstable/pod${at.toString(16).padStart(8, '0')}`);
  const start = async (what) => {
    const running = rig.start(process.execPath, [bundle, what, mkdtempSync(join(dir, 'node-'))]);
    await running.line(/^ready$/);
    return running.pid;
  };
  const pids = [await start('samples'), await start('sleeps')];
  // Without the first sample, which is compiled.
  await rig.sleep(5000);
  const cpu = () => pids.map((pid) => rig.cpuMs(pid));
  const before = cpu();
  await rig.sleep(seconds * 1000);
  const [samples, sleeps] = cpu().map((ms, at) => ms - before[at]);
  const share = (((samples - sleeps) / seconds / 1000) * 100).toFixed(4);
  say(`sampler, ${pods} pods: ${share} % of a core over ${seconds} s (want < 0.02 %)`);
  say(`  ${samples.toFixed(1)} ms of CPU; the same process without it: ${sleeps.toFixed(1)} ms`);
}

/** In each hierarchy of the host. */
function podCgroup(path) {
  const mount = '/sys/fs/cgroup';
  const isV2 = readdirSync(mount).includes('cgroup.controllers');
  for (const root of isV2 ? [mount] : ['cpu', 'cpuacct', 'memory', 'pids'].map((name) => join(mount, name))) {
    const made = mkdirSync(join(root, path), { recursive: true });
    if (made === undefined) continue;
    rig.atEnd(() => {
      // A directory of the kernel: the files in it go with it, those below it do not.
      for (let at = join(root, path); at.length >= made.length; at = join(at, '..')) rmdirSync(at);
    });
  }
}
