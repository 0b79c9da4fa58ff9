/**
 * False alarms and power of analyses: whole rollouts through plan(), with made signals (rollouts.ts), beside the rule of Kayenta on the same
 * samples. Prints the tables of docs/analysis.md.
 *
 *   node bench/analysis/run.mjs [--rollouts=10000] [--power=1000] [--seed=1]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const { values } = parseArgs({
  options: {
    rollouts: { type: 'string', default: '10000' },
    power: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
  },
});
const say = (line) => process.stdout.write(`${line}\n`);
const all = { maxUnavailable: '100%', maxInTrial: '100%' };

/** Fleets and waves without effect, in turn. */
const fleets = [
  { nodes: 20, waves: [{ nodes: 1 }, { nodes: '10%' }, { nodes: '100%' }] },
  { nodes: 30, waves: [{ nodes: 3 }, { nodes: '30%' }, { nodes: '100%' }] },
  { nodes: 50, waves: [{ nodes: 5 }, { nodes: '25%' }, { nodes: '50%' }, { nodes: '100%' }] },
  { nodes: 100, waves: [{ nodes: 1 }, { nodes: '5%' }, { nodes: '10%' }, { nodes: '25%' }, { nodes: '100%' }] },
];

const dir = mkdtempSync(join(tmpdir(), 'relet-analysis-'));
try {
  const outfile = join(dir, 'rollouts.mjs');
  const entry = join(import.meta.dirname, 'rollouts.ts');
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
  const { rollout } = await import(pathToFileURL(outfile).href);
  say(`node ${process.version}; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}; seed ${values.seed}`);

  const percent = (count, total) => `${((100 * count) / total).toFixed(1)} %`;
  const runs = Number(values.rollouts);
  say(`\nWithout effect, ${runs} rollouts:\n`);
  say('| nodes | waves | rollouts | looks | false alarms | Kayenta |');
  say('|---|---|---|---|---|---|');
  const sum = { alarms: 0, kayenta: 0 };
  for (const { nodes, waves } of fleets) {
    const count = Math.ceil(runs / fleets.length);
    const found = { alarms: 0, kayenta: 0, looks: 0 };
    for (let at = 0; at < count; at++) {
      const strategy = { ...all, waves, analysis: {} };
      const one = rollout({ nodes, strategy, factor: 1, seed: `${values.seed}/null/${nodes}/${at}` });
      found.alarms += one.isWorse;
      found.kayenta += one.kayenta;
      found.looks += one.looks;
    }
    sum.alarms += found.alarms;
    sum.kayenta += found.kayenta;
    const looks = (found.looks / count).toFixed(1);
    const wavesText = waves.map((wave) => wave.nodes).join(', ');
    say(
      `| ${nodes} | ${wavesText} | ${count} | ${looks} | ${percent(found.alarms, count)} | ${percent(found.kayenta, count)} |`,
    );
  }
  say(`\nAll: ${percent(sum.alarms, runs)} false alarms, Kayenta ${percent(sum.kayenta, runs)}.`);

  const power = Number(values.power);
  say(`\nPower of the first wave, ${power} rollouts each, worseBy 10 % (and 25 %, the default):\n`);
  say('| canaries / others | × 1.2 | × 1.5 | × 2.0 | Kayenta × 1.2 | × 1.5 | × 2.0 | Kayenta without effect |');
  say('|---|---|---|---|---|---|---|---|');
  for (const [canaries, nodes] of [
    [1, 20],
    [3, 30],
    [5, 50],
    [10, 100],
  ]) {
    const cellOf = (factor, worseBy) => {
      const found = { worse: 0, kayenta: 0 };
      const signals = ['oomKills', 'evictions', 'restarts', 'rejectedPods', 'lostReady'].map((name) => ({ name }));
      const levels = ['memoryPressure', 'podStartSeconds'].map((name) => ({ name, worseBy }));
      const analysis = { signals: [...signals, ...levels] };
      const strategy = { ...all, waves: [{ nodes: canaries }, { nodes: '100%' }], analysis };
      for (let at = 0; at < power; at++) {
        const one = rollout({ nodes, strategy, factor, seed: `${values.seed}/${factor}/${nodes}/${at}` });
        found.worse += one.isWorse;
        found.kayenta += one.kayenta;
      }
      return found;
    };
    const factors = [1.2, 1.5, 2];
    const [low, usual] = ['10%', '25%'].map((worseBy) => factors.map((factor) => cellOf(factor, worseBy)));
    const own = factors.map((_, at) => `${percent(low[at].worse, power)} (${percent(usual[at].worse, power)})`);
    const theirs = [...low, cellOf(1, '10%')].map(({ kayenta }) => percent(kayenta, power));
    say(`| ${canaries} / ${nodes - canaries} | ${[...own, ...theirs].join(' | ')} |`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
