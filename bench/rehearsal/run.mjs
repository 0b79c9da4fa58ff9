/**
 * Measures the cost of a rehearsal: `relet rollout rehearse` of a set with four waves and trials of ten minutes, on made nodes. Each number of
 * nodes is rehearsed twice with the same seed, and the output must be the same, byte for byte. Run `npm run build` first, then
 *
 *   node bench/rehearsal/run.mjs [--nodes=5000,15000] [--seed=1]
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '5000,15000' }, seed: { type: 'string', default: '1' } },
});
const pathOf = (name) => join(import.meta.dirname, name);
const say = (line) => process.stdout.write(`${line}\n`);

const set = `apiVersion: relet.dev/v1alpha1
kind: NodeConfigSet
metadata:
  name: bench
spec:
  selector:
    matchLabels: {pool: bench}
  config:
    overlay: {maxPods: 150}
  strategy:
    waves: [{nodes: 1}, {nodes: 5%}, {nodes: 25%}, {nodes: 100%}]
    maxUnavailable: 25%
    maxInTrial: 25%
`;

async function rehearse(file, count) {
  const startedMs = performance.now();
  const args = ['rollout', 'rehearse', file, `--count=${count}`, `--seed=${values.seed}`, '--until=24h', '-o', 'json'];
  const child = spawn(process.execPath, ['--require', pathOf('usage.cjs'), pathOf('../../bin/relet.cjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [output, progress, usage, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    text(child.stdio[3]),
    new Promise((resolve) => child.once('exit', resolve)),
  ]);
  if (code !== 0) throw new Error(`relet rollout rehearse ended with ${code}: ${progress.slice(-500)}`);
  const seconds = (performance.now() - startedMs) / 1000;
  const hash = createHash('sha256').update(output).digest('hex');
  return { seconds, hash, ...JSON.parse(usage), rehearsal: JSON.parse(output) };
}

const dir = mkdtempSync(join(tmpdir(), 'relet-rehearsal-'));
try {
  const file = join(dir, 'set.yaml');
  writeFileSync(file, set);
  say(`node ${process.version}; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`);
  for (const count of values.nodes.split(',').map(Number)) {
    const runs = [await rehearse(file, count), await rehearse(file, count)];
    const [{ rehearsal }] = runs;
    say(`\n${count} nodes: ${rehearsal.outcome} after ${(rehearsal.durationSeconds / 60).toFixed(1)} min`);
    for (const { seconds, cpuSeconds, peakMB } of runs)
      say(
        `  ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU (${((cpuSeconds * 1000) / count).toFixed(1)} ms a node), ${peakMB.toFixed(0)} MB`,
      );
    say(runs[0].hash === runs[1].hash ? `  same bytes: ${runs[0].hash}` : '  THE OUTPUT IS NOT THE SAME');
    if (runs[0].hash !== runs[1].hash) process.exitCode = 1;
  }
} finally {
  rmSync(dir, { recursive: true });
}
