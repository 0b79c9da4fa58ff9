/** Prints the progress of `relet up` on the terminal, or sends it to the process that started it in the background. */
import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../clock.js';
import { dataDirFlag, type SystemDirectory } from '../../lab/up/directory.js';
import type { System } from '../../lab/up/settings.js';
import type { SystemListener } from '../../lab/up/system.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { openTerminal, wrapLines } from '../terminal/terminal.js';

/** To the process that waits for a system in the background. */
export type Message =
  | { kind: 'line'; text: string }
  | { kind: 'failed'; why: string }
  | { kind: 'started'; late: number };

export interface Narrator extends SystemListener {
  say(text: string): void;
  /** `link` logs in once, so it is shown and not logged. */
  dashboard(url: string, link: string): void;
  begin(directory: SystemDirectory, system: System, again: boolean): void;
  stopping(): void;
  ended(): void;
  failed(why: string): void;
}

export function createNarrator(): Narrator {
  const { print, paint, width } = openTerminal();
  const startedMs = systemClock.monotonic();
  const seconds = () => `${((systemClock.monotonic() - startedMs) / 1000).toFixed(1)} s`;
  const inBackground = process.send !== undefined;
  const send = (message: Message) => void (process.connected && process.send?.(message, () => {}));
  const say = (text: string, logged = text) => {
    print(inBackground ? `${new Date().toISOString()} ${logged}` : forScreen(text, width));
    send({ kind: 'line', text });
  };
  let where: SystemDirectory;
  let hasDashboard = false;
  const crashed = new Set<string>();
  return {
    say: (text) => say(text),
    dashboard(url, link) {
      hasDashboard = true;
      say(`  dashboard   ${link}`, `  dashboard   ${url}`);
    },
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
    onCrash(name, { count, why, error }) {
      if (crashed.has(name)) return say(`  ${name.padEnd(10)}  not Ready yet: its kubelet has crashed ${count} times`);
      crashed.add(name);
      say(`  ${name.padEnd(10)}  ${paint.red('its kubelet crashed')} (${why}) and is started again`);
      if (error !== undefined) say(`    ${error}`);
      const { config, log } = where.node(name);
      say(`    correct its config, ${config}, or give it flags after '--'; its log: ${log}`);
    },
    onStarted(late) {
      for (const name of late) say(`  ${name.padEnd(10)}  not Ready yet; its log: ${where.node(name).log}`);
      say(nextSteps(where, { inBackground, hasDashboard }));
      send({ kind: 'started', late: late.length });
    },
    stopping: () => say('stopping …'),
    ended: () => say(`stopped; 'relet up${dataDirFlag(where.dir)}' resumes it`),
    failed: (why) => send({ kind: 'failed', why }),
  };
}

/** Broken at spaces where a person reads it; a command to copy stays whole. */
export const forScreen = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        .split('\n')
        .map((line) => (line.startsWith('  export ') ? line : wrapLines(line, width)))
        .join('\n');

function nextSteps(
  directory: SystemDirectory,
  { inBackground, hasDashboard }: { inBackground: boolean; hasDashboard: boolean },
): string {
  const elsewhere = inBackground ? '' : ', in another terminal';
  const relet = ownName();
  const which = dataDirFlag(directory.dir);
  return `
  export KUBECONFIG=${directory.kubeconfig}

Try next${elsewhere}; kubectl works too:
  ${relet} get
  ${relet} set node-1 maxPods=150
  ${relet} describe node-1

${hasDashboard ? `The link to the dashboard logs in once; '${relet} dashboard --link' prints another.\n` : ''}${inBackground ? `'${relet} down${which}'` : 'Ctrl-C'} stops it.
'${relet} up${which}' resumes it; with --fresh it starts over.`;
}

/** How a person starts relet again: by its name where that is on the PATH, otherwise the way it was started now. */
export function ownName(): string {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  if (directories.some((dir) => existsSync(join(dir, 'relet')))) return 'relet';
  const near = relative(process.cwd(), reletExecutable());
  return `node ${near.startsWith('..') ? reletExecutable() : near}`;
}
