/** `relet demo`: a guided tour of 90 seconds, in a cluster of its own that is deleted afterwards. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '../../clock.js';
import { runVerb, verb } from '../command-line.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { columnsVariable, isTerminal, openTerminal, type Terminal, wrap } from '../terminal/terminal.js';
import { forScreen, ownName } from './narrator.js';

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
    for (const scene of scenes) {
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
  { text, command, status = 0, shows }: Scene,
  env: NodeJS.ProcessEnv,
  { print, paint, columns, width }: Terminal,
  reader: AbortSignal | undefined,
): Promise<string | undefined> {
  const pause = (ms: number) => (reader ? systemClock.sleep(ms, reader).catch(() => {}) : undefined);
  print(`\n${paint.cyan(wrap(text, columns))}`);
  await pause(readMs(text));
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

interface Scene {
  text: string;
  command: string;
  /** The exit code it must end with. Default 0. */
  status?: number;
  /** Expected output, with any white space as one space. */
  shows: RegExp;
  /** Shown only where this program is installed. */
  needs?: string;
}

/** Each scene a sentence or two, a command as a person types it, and what it must print. */
const scenes: readonly Scene[] = [
  {
    text: 'A whole cluster on this machine: an API server, a controller and two nodes, each a process of its own. A config is usually on trial for ten minutes; here it is five seconds.',
    command: "relet up --detach --nodes 2 --trial-duration 5s | grep -E 'API|Ready'",
    shows: /node-2 +Ready after/,
  },
  {
    text: 'Nothing is assigned to the nodes: both run with their local config.',
    command: 'relet get',
    shows: /node-1 +local +local +local/,
  },
  {
    text: "This is the config that a node's kubelet runs with.",
    command: "relet view node-1 | grep -E '^(maxPods|eventRecordQPS|port):'",
    shows: /maxPods: 110/,
  },
  {
    text: 'Change it. relet shows what the change needs on a live node, stores the config, assigns it, and waits until the kubelet runs with it.',
    command: 'relet set node-1 maxPods=150 --yes',
    shows: /node-1: active/,
  },
  {
    text: 'It is on trial. Once it has been healthy long enough, it becomes the last known good config.',
    command: 'relet wait node-1 --for=lastKnownGood && relet get node-1',
    // A narrow terminal shortens the names from the left.
    shows: /node-1 +active +\S*(\w{4}) +\S*\1/,
  },
  {
    text: 'A config that the kubelet would reject is not even stored.',
    command: 'relet set node-1 eventRecordQPS=-1 --yes',
    status: 2,
    shows: /must not be a negative number/,
  },
  {
    text: 'Suppose someone bypasses relet and assigns that config with kubectl …',
    command: `kubectl create configmap broken -n relet-system --from-literal=kubelet='{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1","eventRecordQPS":-1}'
kubectl label configmap broken -n relet-system relet.dev/kubelet-config=true
kubectl patch nodeconfig node-1 --type=merge -p '{"spec":{"configSource":{"configMap":{"namespace":"relet-system","name":"broken","kubeletConfigKey":"kubelet"}}}}'`,
    shows: /nodeconfig.relet.dev\/node-1 patched/,
    needs: 'kubectl',
  },
  {
    text: '… then the node itself rejects it, reports why, and keeps running. Its kubelet was not even restarted.',
    command: 'relet wait node-1',
    status: 1,
    shows: /rejects a value of the assigned config/,
    needs: 'kubectl',
  },
  {
    text: 'relet set builds on what a node is assigned, so take that one back first.',
    command: 'relet undo node-1 --yes',
    shows: /node-1: active/,
    needs: 'kubectl',
  },
  {
    text: 'Now a config that passes every check and still crashes the kubelet: on every node relet itself serves metrics on port 10269, so that port is taken.',
    command: 'relet set node-1 port=10269 --yes',
    status: 1,
    shows: /node-1: rolled back/,
  },
  {
    text: 'The kubelet crashed three times. The node rolled back to its last known good config, and will not try the bad one again.',
    command: "relet get node-1 && relet describe node-1 | grep -E '^(Ready|Active|Cause)'",
    shows: /node-1 +rolled back[\s\S]*Ready: +True[\s\S]*Cause: .*:10269/,
  },
  {
    text: 'Return to the local config.',
    command: 'relet reset node-1 --yes && relet wait node-1 --for=lastKnownGood && relet get node-1',
    shows: /node-1 +local +local +local +local/,
  },
  { text: 'Stop everything.', command: 'relet down', shows: /stopped the cluster in/ },
];
