/** What `relet up` says while it works: to the terminal, and to whoever started it in the background. */
import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../clock.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { openTerminal } from '../terminal.js';
import { dataDirFlag, type SystemDirectory } from './directory.js';
import type { System } from './settings.js';
import type { SystemListener } from './system.js';

/** To the process that waits for a system in the background. */
export type Message =
  | { kind: 'line'; text: string }
  | { kind: 'failed'; why: string }
  | { kind: 'started'; late: number };

export interface Narrator extends SystemListener {
  say(text: string): void;
  begin(directory: SystemDirectory, system: System, again: boolean): void;
  stopping(): void;
  ended(): void;
  failed(why: string): void;
}

export function createNarrator(): Narrator {
  const { print, paint } = openTerminal();
  const startedMs = systemClock.monotonic();
  const seconds = () => `${((systemClock.monotonic() - startedMs) / 1000).toFixed(1)} s`;
  const inBackground = process.send !== undefined;
  const tell = (message: Message) => void (process.connected && process.send?.(message, () => {}));
  const say = (text: string) => {
    print(inBackground ? `${new Date().toISOString()} ${text}` : text);
    tell({ kind: 'line', text });
  };
  let where: SystemDirectory;
  return {
    say,
    begin(directory, { settings, network }, again) {
      where = directory;
      const count = settings.nodes === 1 ? '1 node' : `${settings.nodes} nodes`;
      say(`relet ${pkg.version}: ${again ? 'resuming' : 'starting'} an API server and ${count} in ${directory.dir}`);
      if (settings.kubeletBinary !== 'hollow') say(`kubelet: ${settings.kubeletBinary}`);
      if (network.kubeletPort !== 10250)
        say(
          `port 10250 is taken on this machine: the kubelets use ${network.kubeletPort}, which every config must keep`,
        );
    },
    onServer: (url) => say(`  API server  ${url}  ready after ${seconds()}`),
    onNode: (name) => say(`  ${name.padEnd(10)}  ${paint.green('Ready')} after ${seconds()}`),
    onTrouble: (text) => say(text),
    onDeath(name, { why, words }) {
      say(`  ${name.padEnd(10)}  ${paint.red('its kubelet died')} (${why}) and is started again; its last words:`);
      for (const line of words) say(`    ${line}`);
      const { config, log } = where.node(name);
      say(`    mend its config, ${config}, or give it flags after '--'; its log: ${log}`);
    },
    onStarted(late) {
      for (const name of late) say(`  ${name.padEnd(10)}  not Ready yet; its log: ${where.node(name).log}`);
      say(nextSteps(where, inBackground));
      tell({ kind: 'started', late: late.length });
    },
    stopping: () => say('stopping …'),
    ended: () => say(`stopped; 'relet up${dataDirFlag(where.dir)}' resumes it`),
    failed: (why) => tell({ kind: 'failed', why }),
  };
}

function nextSteps(directory: SystemDirectory, inBackground: boolean): string {
  const elsewhere = inBackground ? '' : ', in another terminal';
  const relet = ownName();
  const which = dataDirFlag(directory.dir);
  return `
  export KUBECONFIG=${directory.kubeconfig}

Try next${elsewhere}; kubectl works too:
  ${relet} get
  ${relet} set node-1 maxPods=150
  ${relet} describe node-1

${inBackground ? `'${relet} down${which}'` : 'Ctrl-C'} stops it.
'${relet} up${which}' resumes it; with --fresh it starts over.`;
}

/** How to start relet again: by its name where it is installed, else as it was started. */
function ownName(): string {
  const installed = (process.env.PATH ?? '')
    .split(delimiter)
    .some((dir) => dir !== '' && existsSync(join(dir, 'relet')));
  if (installed) return 'relet';
  const near = relative(process.cwd(), reletExecutable());
  return `node ${near.startsWith('..') ? reletExecutable() : near}`;
}
