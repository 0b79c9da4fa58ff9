/** `relet demo`: the whole story in a minute or two, in a cluster of its own that is deleted afterwards. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '../../clock.js';
import { runVerb, verb } from '../command-line.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { wrap } from '../terminal/styled-text.js';
import { columnsVariable, isTerminal, openTerminal, type Terminal } from '../terminal/terminal.js';
import { type Scene, story } from './demo-story.js';
import { forScreen } from './narrator.js';
import { ownName } from './own-name.js';

export async function run(args: string[]): Promise<void> {
  const command = verb(
    'relet demo',
    'Watch a config become active, an invalid one rejected, a crashing one rolled back.',
  )
    .option('--fast', 'at full speed, without pauses for reading')
    .addHelpText(
      'after',
      '\nUses a directory of its own and deletes it. Exits with 1 if a step did not\nwork as described.',
    )
    .action(({ fast }: { fast?: boolean }) => demo(!fast && isTerminal()));
  await runVerb(command, args);
}

async function demo(isPaced: boolean): Promise<void> {
  const terminal = openTerminal();
  const stage = openStage(terminal);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  const startedMs = systemClock.monotonic();
  try {
    for (const scene of story) {
      if (scene.needs !== undefined && !has(scene.needs, stage.env)) continue;
      const complaint = await play(scene, stage.env, terminal, isPaced ? stop.signal : undefined);
      if (stop.signal.aborted) return end(130);
      if (complaint === undefined) continue;
      terminal.print(
        `\n${terminal.paint.red(wrap(`This step did not work as described: ${complaint}`, terminal.columns))}`,
      );
      return end(1);
    }
    const seconds = Math.round((systemClock.monotonic() - startedMs) / 1000);
    terminal.print(`\nEverything worked as described (${seconds} s). Now try it yourself:\n  ${ownName()} up`);
  } finally {
    stage.close();
  }
}

function end(status: number): void {
  process.exitCode = status;
}

interface Stage {
  env: NodeJS.ProcessEnv;
  close(): void;
}

/** A home of its own, with `relet` on the path even where it is not installed. */
function openStage({ width }: Terminal): Stage {
  const home = mkdtempSync(join(tmpdir(), 'relet-demo-'));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'relet'), `#!/bin/sh\nexec '${process.execPath}' '${reletExecutable()}' "$@"\n`, {
    mode: 0o755,
  });
  const env = {
    ...process.env,
    HOME: home,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    KUBECONFIG: join(home, '.relet', 'admin.kubeconfig'),
    NO_COLOR: '1',
    // Its commands write into pipes, and would take the screen to be of any width.
    ...(width !== undefined && { [columnsVariable]: String(width) }),
  };
  return {
    env,
    close() {
      spawnSync(join(bin, 'relet'), ['down'], { env, stdio: 'ignore' });
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const has = (program: string, env: NodeJS.ProcessEnv) =>
  spawnSync('sh', ['-c', `command -v ${program}`], { env, stdio: 'ignore' }).status === 0;

const readMs = (text: string) => 1000 + text.length * 18;
const keyMs = 20;
const lookMs = 1800;

/** Plays one scene; with a signal there are pauses for reading. Resolves with what was not as described. */
async function play(
  { tell, command, status = 0, shows }: Scene,
  env: NodeJS.ProcessEnv,
  { print, paint, columns, width }: Terminal,
  reader: AbortSignal | undefined,
): Promise<string | undefined> {
  const pause = (ms: number) => (reader ? systemClock.sleep(ms, reader).catch(() => {}) : undefined);
  print(`\n${paint.cyan(wrap(tell, columns))}`);
  await pause(readMs(tell));
  print(`$ ${paint.bold(command.replaceAll('\n', '\n$ '))}`);
  await pause(Math.min(command.length, 80) * keyMs);
  const ended = await perform(command, env, (line) => print(forScreen(line, width)));
  await pause(lookMs);
  if (ended.status !== status) return `it exited with ${ended.status}, not with ${status}`;
  // Lines are broken to the width of the screen.
  return shows.test(ended.output.replace(/\s+/g, ' ')) ? undefined : `its output does not match ${shows}`;
}

async function perform(command: string, env: NodeJS.ProcessEnv, show: (line: string) => void) {
  const child = spawn('sh', ['-c', `exec 2>&1\n${command}`], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    show(`${line}\n`);
  }
  return { status: await ended, output: lines.join('\n') };
}
