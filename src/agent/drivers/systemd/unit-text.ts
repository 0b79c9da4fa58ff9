/**
 * The kubelet's unit as text: from its files to the command that it starts, word for word, and from that to relet's own drop-ins.
 * Pure. Variables stay variables, so that a changed environment file takes effect at the next start as before. Nothing of a
 * payload is ever written here: a config appears as a path that relet made from the config's digest.
 *
 *     10-kubeadm.conf        ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_EXTRA_ARGS
 *     zz-relet-90-trial.conf ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_EXTRA_ARGS --config=/var/lib/relet/…
 */
import { basename } from 'node:path';
import { sha256 } from '../../state/checkpoints.js';

export interface UnitFile {
  path: string;
  text: string;
}

/** The unit's own command: what it would start without relet. */
export interface BaseCommand {
  /** As it is written, on one line. */
  text: string;
  digest: string;
}

/**
 * In the order in which they apply. Numbers, since `zz-relet-trial.conf` would come before `zz-relet.conf`; zz, since `override.conf`
 * of `systemctl edit` comes after every name that begins with a digit.
 */
export const dropIns = {
  good: 'zz-relet-50-good.conf',
  fallback: 'zz-relet-80-fallback.conf',
  trial: 'zz-relet-90-trial.conf',
} as const;

export type DropInKind = keyof typeof dropIns;

export const isOwn = (path: string): boolean => basename(path).startsWith('zz-relet-');

/** From the unit's files in systemd's order. Throws if there is not exactly one command. */
export function baseCommand(files: readonly UnitFile[]): BaseCommand {
  let commands: { text: string; path: string }[] = [];
  for (const { path, text } of files.filter(({ path }) => !isOwn(path)))
    for (const value of valuesOf(text, 'ExecStart'))
      commands = value === '' ? [] : [...commands, { text: value, path }];
  const [first, second] = commands;
  if (first === undefined) throw new Error(`no ExecStart= in ${named(files)}: is this the unit of a kubelet?`);
  if (second !== undefined)
    throw new Error(
      `more than one ExecStart= (${first.path}: ${first.text}; ${second.path}: ${second.text}): relet cannot know which one is the kubelet`,
    );
  const { text, path } = first;
  if (wordsOf(text).includes(';'))
    throw new Error(`ExecStart= of ${path} has more than one command: relet cannot know which one is the kubelet`);
  return { text, digest: sha256(text).slice(0, 16) };
}

/** A drop-in of somebody else that sets a command after relet's. */
export function overridingDropIn(files: readonly UnitFile[]): string | undefined {
  return files.find(
    ({ path, text }) =>
      path.endsWith('.conf') && basename(path) > dropIns.trial && valuesOf(text, 'ExecStart').length > 0,
  )?.path;
}

/** Name of a wrapper, if the unit does not start the kubelet itself: arguments that follow would not reach it. */
export function wrapperIn({ text }: BaseCommand): string | undefined {
  const [program = '', ...args] = wordsOf(text);
  const name = basename(program.replace(/^[-@:+!|]+/, ''));
  if (/^(kubectl-)?relet(\.cjs)?$/.test(name)) return name;
  const relet = args.find((word) => /(^|\/)(kubectl-)?relet(\.cjs)?$/.test(word));
  if (relet !== undefined) return relet;
  return /^(ba|da|z|k)?sh$/.test(name) && args.some((word) => /^-[a-z]*c$/.test(word)) ? name : undefined;
}

/** The values of a setting of [Service], as systemd reads them. */
export function valuesOf(text: string, setting: string): string[] {
  let section = '';
  return logicalLines(text).flatMap((line) => {
    const header = /^\[(.+)\]$/.exec(line);
    if (header) section = header[1]!;
    const [, name, value] = /^([^=]+?)\s*=\s*(.*)$/s.exec(line) ?? [];
    return section === 'Service' && name === setting ? [value!] : [];
  });
}

/** A line that ends with a backslash continues; comments in between do not end that. */
function logicalLines(text: string): string[] {
  const lines: string[] = [];
  let begun: string | undefined;
  for (const raw of text.split('\n')) {
    const line = raw.trimStart();
    if (/^[#;]/.test(line) || (line === '' && begun === undefined)) continue;
    const whole = (begun ?? '') + line;
    const backslashes = /\\*$/.exec(whole)![0].length;
    begun = backslashes % 2 === 1 ? `${whole.slice(0, -1)} ` : undefined;
    if (begun === undefined) lines.push(whole.trim());
  }
  return begun === undefined ? lines : [...lines, begun.trim()];
}

/** Words without their quotes, for inspection only; variables stay. */
export function wordsOf(command: string): string[] {
  const found = command.matchAll(/(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'\\])+/gs);
  return [...found].map(([word]) => word.replace(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/gs, (_all, a, b) => a ?? b));
}

const named = (files: readonly UnitFile[]): string => files.map(({ path }) => path).join(', ') || 'the unit';

export interface DropIn {
  kind: DropInKind;
  base: BaseCommand;
  /** Undefined for the local config. */
  config: StoredConfig | undefined;
  /** The host's command line has --config-dir, which would be merged over the config. */
  hasConfigDir: boolean;
  /** The script that counts exits, and how many of them are too many. */
  counter: { script: string; limit: number };
  /** The next start, whenever that is, begins the deadline of the trial. Otherwise it is armed already. */
  deadlineSeconds?: number;
}

/** A config in relet's own place, under a name made from its content. */
export interface StoredConfig {
  digest: string;
  file: string;
}

/** Header of a drop-in on the host. */
export interface DropInHeader {
  /** `local`, or the digest of a config. */
  config: string;
  base: string;
}

const purposes: Record<DropInKind, string> = {
  trial: 'a kubelet config on trial; gone after a reboot, or when the trial is over',
  good: 'the last known good kubelet config',
  fallback: 'the local kubelet config, since the last known good one kept crashing; gone after a reboot',
};

/** A run of this length shows that the config starts. */
export const longRunSeconds = 60;
/** How long the host waits for a trial before it ends it, times the agent's own deadline: only an agent that is gone needs that. */
export const hostPatience = 1.5;
/** Seconds between two crashes on trial: a rollback then takes a few seconds. */
const trialRestartSec = 1;

export function renderDropIn({ kind, base, config, hasConfigDir, counter, deadlineSeconds }: DropIn): string {
  const { script, limit } = counter;
  const name = config?.digest ?? local;
  const flags = config ? [`--config=${safePath(config.file)}`, ...(hasConfigDir ? ['--config-dir='] : [])] : [];
  // Without an own limit, five crashes within ten seconds would be the end of a unit that does not set one.
  const limits = kind === 'good' ? [] : ['[Unit]', 'StartLimitIntervalSec=0', ''];
  return [
    `# relet: ${purposes[kind]}. 'relet detach' removes it.`,
    `# relet: config=${name} base=${base.digest}`,
    ...limits,
    '[Service]',
    ...(kind === 'trial' ? [`RestartSec=${trialRestartSec}`] : []),
    ...(kind === 'trial' ? [`ExecStartPre=-/bin/sh ${safePath(script)} begin`] : []),
    ...(deadlineSeconds === undefined ? [] : [`ExecStartPre=-/bin/sh ${safePath(script)} arm ${deadlineSeconds}`]),
    'ExecStart=',
    `ExecStart=${[base.text, ...flags].join(' ')}`,
    `ExecStopPost=-/bin/sh ${safePath(script)} exited ${kind} ${name} ${limit} ${longRunSeconds}`,
    '',
  ].join('\n');
}

/** Undefined for a file that relet did not write. */
export function readDropIn(text: string): DropInHeader | undefined {
  const [, config, base] = /^# relet: config=(local|[0-9a-f]{64}) base=([0-9a-f]{16})$/m.exec(text) ?? [];
  return config === undefined ? undefined : { config, base: base! };
}

export const local = 'local';

/** A path that means the same to systemd, to a shell and to the kubelet. */
export function safePath(path: string): string {
  if (!/^(\/[-._a-zA-Z0-9]+)+$/.test(path) || path.split('/').includes('..'))
    throw new Error(
      `${JSON.stringify(path)} cannot be written to a unit file: use a path of letters, digits, '-', '_' and '.'`,
    );
  return path;
}
