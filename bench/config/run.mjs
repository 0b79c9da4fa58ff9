/**
 * How fast `relet/config` validates a document, and how fast the command line starts beside kubectl. One run, so that both
 * sides meet the same machine. Run `npm run build` first, then `node bench/config/run.mjs`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { check, newestMinor } from '../../dist/config.js';

const relet = join(import.meta.dirname, '../../bin/relet.cjs');
const document = join(import.meta.dirname, 'typical.yaml');

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

function documentsPerSecond() {
  const text = readFileSync(document, 'utf8');
  const once = () => check(text, { minor: newestMinor, file: document });
  const { verdict, findings } = once();
  if (verdict !== 'accepted') throw new Error(`${document} should be fine: ${JSON.stringify(findings)}`);
  for (let i = 0; i < 300; i++) once();
  const rounds = Array.from({ length: 15 }, () => {
    const started = performance.now();
    for (let i = 0; i < 100; i++) once();
    return (performance.now() - started) / 100;
  });
  const ms = median(rounds);
  const before = process.cpuUsage();
  for (let i = 0; i < 500; i++) once();
  const { user, system } = process.cpuUsage(before);
  const lines = text.trimEnd().split('\n').length;
  console.log(
    `document of ${lines} lines, warm: ${ms.toFixed(2)} ms each, ${Math.round(1000 / ms)} a second (want < 3 ms)`,
  );
  console.log(`  of it CPU, which a busy machine does not stretch: ${((user + system) / 500_000).toFixed(2)} ms`);
}

/** Wall time of a whole process. NODE_EXTRA_CA_CERTS makes Node 20 read all certificates at every start, so it is unset. */
function coldStart(command, args) {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
  const started = performance.now();
  const { status, error } = spawnSync(command, args, { stdio: 'ignore', env });
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error ?? `exit ${status}`}`);
  return performance.now() - started;
}

const rounds = 21;

function coldStarts() {
  const node = process.execPath;
  const programs = {
    'kubectl --help': ['kubectl', ['--help']],
    'node, empty program': [node, ['-e', '0']],
    'relet --help': [node, [relet, '--help']],
    'relet config explain maxPods': [node, [relet, 'config', 'explain', 'maxPods']],
    'relet config validate FILE': [node, [relet, 'config', 'validate', document]],
  };
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  const cpu = Object.fromEntries(Object.keys(programs).map((name) => [name, 0]));
  // Turn about, so that a busy moment of the machine hits all alike; the first round warms the disk cache.
  for (let round = 0; round <= rounds; round++)
    for (const [name, [command, args]] of Object.entries(programs)) {
      const before = cpuOfChildren();
      const ms = coldStart(command, args);
      if (round === 0) continue;
      times[name].push(ms);
      cpu[name] += (cpuOfChildren() - before) / rounds;
    }
  const kubectl = 'kubectl --help';
  const base = median(times[kubectl]);
  console.log(`cold start, median of ${rounds}, and CPU (user and system, mean), which a busy machine stretches less:`);
  for (const [name, list] of Object.entries(times)) {
    const ms = median(list);
    const wall = `${ms.toFixed(1).padStart(6)} ms, ${(ms / base).toFixed(2)} × ${kubectl}`;
    console.log(
      `  ${name.padEnd(30)} ${wall}; CPU ${cpu[name].toFixed(0)} ms, ${(cpu[name] / cpu[kubectl]).toFixed(2)} ×`,
    );
  }
}

/** Milliseconds of all children that have ended, in steps of 10; NaN where there is no /proc. */
function cpuOfChildren() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return Number.NaN;
  }
}

documentsPerSecond();
coldStarts();
