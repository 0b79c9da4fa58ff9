#!/usr/bin/env node
/**
 * A real process that behaves as its config orders, for tests of the process in front of it. Comment lines of the config
 * file, or of its drop-ins, are orders: `# exit 1` (at start), `# die 200 1` (after 200 ms, with code 1), `# unhealthy`, `# ignore SIGTERM`,
 * `# needs PATH` (exits 1 at start where that is missing), `# refuse WORDS` (what it says when it is only asked, with its
 * lock in a place that cannot be). Each start, question and signal is one line of JSON in the file FAKE_KUBELET_LOG.
 * Why it exits is in the file FAKE_KUBELET_ERRORS, or on standard error. As for a kubelet, the last of two equal flags counts.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const args = process.argv.slice(2);
const say = (line) => appendFileSync(process.env.FAKE_KUBELET_LOG ?? '/dev/null', `${JSON.stringify(line)}\n`);
const names = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID', 'RELET_CHILD'];
const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));
if (args.includes('--version')) {
  say({ asked: 'version', env });
  console.log(`Kubernetes ${process.env.FAKE_KUBELET_VERSION ?? 'v1.32.1'}`);
  process.exit(0);
}
const flag = (name) => args.findLast((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const configDir = flag('config-dir');
const dropIns = configDir ? readdirSync(configDir).filter((name) => name.endsWith('.conf')) : [];
const configFile = flag('config');
const files = [...(configFile ? [configFile] : []), ...dropIns.sort().map((name) => join(configDir, name))];
const config = files.map((file) => readFileSync(file, 'utf8')).join('\n');
const order = (name) => new RegExp(`^# ${name} ?(.*)$`, 'm').exec(config)?.[1]?.split(' ');

const lock = flag('lock-file');
if (lock !== undefined) {
  say({ asked: 'config', env });
  const refusal = order('refuse')?.join(' ');
  const complaint = refusal
    ? `"Failed to validate kubelet configuration" err="${refusal}"`
    : `"Failed to run kubelet" err="unable to acquire file lock on \\"${lock}\\": not a directory"`;
  console.error(`E1115 20:19:54.250432 20375 server.go:302] ${complaint}`);
  process.exit(1);
}

say({ pid: process.pid, args, configFile, config, env });

for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => {
    say({ pid: process.pid, signal });
    if (order('ignore') === undefined) process.exit(0);
  });

const exit = order('exit');
if (exit) {
  const { FAKE_KUBELET_ERRORS } = process.env;
  const error = `Error: it exits with ${exit[0]}`;
  if (FAKE_KUBELET_ERRORS) appendFileSync(FAKE_KUBELET_ERRORS, `${error}\n`);
  else console.error(error);
  process.exit(Number(exit[0]));
}
const needs = order('needs');
if (needs && !existsSync(needs[0])) process.exit(1);
const die = order('die');
if (die) setTimeout(() => process.exit(Number(die[1])), Number(die[0]));

const port = Number(/^healthzPort: (\d+)$/m.exec(config)?.[1] ?? flag('healthz-port'));
const server = createServer((_request, response) => {
  response.statusCode = order('unhealthy') ? 500 : 200;
  response.end();
});
// As a kubelet does whose healthz port is taken: it says so, lives on and tries again.
server.on('error', () => setTimeout(() => server.listen(port, '127.0.0.1'), 50));
server.listen(port, '127.0.0.1');
