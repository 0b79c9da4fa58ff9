/**
 * Finds the kubelet inside k3s, or below RKE2: its unit and its flags. k3s logs the flags at each start, and its process does not show
 * them; those of RKE2 are those of its child process.
 */
import { basename } from 'node:path';
import type { RunCommand } from '../../agent/drivers/command.js';
import type { Embedding } from '../../agent/drivers/systemd/host-layout.js';
import type { Systemd, UnitState } from '../../agent/drivers/systemd/systemd.js';
import { CannotRun } from '../../cannot-run.js';
import type { UnitCommand } from './kubelet-unit.js';

const units = ['k3s.service', 'k3s-agent.service', 'rke2-server.service', 'rke2-agent.service'];
const usualUnit = 'kubelet.service';
const commandTimeoutMs = 10_000;

/** The named unit; of a host without kubelet.service the one of k3s or RKE2 that runs, or is enabled. */
export async function unitOf(systemd: Systemd, name: string): Promise<string> {
  if (name !== usualUnit || (await systemd.unit(name)).loadState !== 'not-found') return name;
  const all = await Promise.all(units.map(async (unit) => ({ unit, state: await systemd.unit(unit) })));
  const present = all.filter(({ state }) => state.loadState === 'loaded');
  const found =
    present.find(({ state }) => state.activeState !== 'inactive') ??
    present.find(({ state }) => state.unitFileState === 'enabled');
  return found?.unit ?? name;
}

/** The program of a unit, if the kubelet is a part of it. */
export function embeddingProgram({ execStart }: Pick<UnitState, 'execStart'>): Embedding['program'] | undefined {
  const name = basename(execStart[0]?.[0] ?? '');
  return name === 'k3s' || name === 'rke2' ? name : undefined;
}

/** Newest line of the journal with the flags: of this start, else of an earlier one. */
const logged =
  '{ journalctl -q --no-pager --all -o cat _SYSTEMD_INVOCATION_ID="$1"; journalctl -q --no-pager --all -o cat -r -u "$2"; } 2>/dev/null | grep -m 1 "Running kubelet "';
/** Executable and arguments of the child that is a kubelet. */
const child =
  'for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do exe=$(readlink "/proc/$c/exe"); case $exe in */kubelet*) echo "$exe"; cat "/proc/$c/cmdline"; exit;; esac; done';

/** Throws CannotRun where the flags are not known, or the kubelet reads no drop-ins. */
export async function embeddedCommand(
  { name, execStart, mainPid, invocationId }: UnitState & { name: string },
  program: Embedding['program'],
  run: RunCommand,
): Promise<UnitCommand> {
  const command = [execStart[0]![0]!];
  const ofChild =
    program === 'rke2' && mainPid !== 0 ? await run(shell(child, String(mainPid)), commandTimeoutMs) : undefined;
  const [exe, words = ''] = ofChild?.stdout.split('\n') ?? [];
  if (exe)
    return withDir({ command: [exe.replace(/ \(deleted\)$/, '')], args: words.split('\0').slice(1, -1) }, program);
  const { stdout } = await run(shell(logged, invocationId, name), commandTimeoutMs);
  const args = loggedFlags(stdout);
  if (args === undefined)
    throw new CannotRun(
      `the journal of ${name} has no line 'Running kubelet', which has the flags of its kubelet: ${program} has not started it yet, or the line is too old; restart ${name} once, and let it log to the journal`,
    );
  return withDir({ command, args }, program);
}

const shell = (script: string, ...args: string[]): string[] => ['/bin/sh', '-c', script, 'sh', ...args];

function withDir(found: UnitCommand, program: Embedding['program']): UnitCommand {
  const configDir = found.args.findLast((arg) => arg.startsWith('--config-dir='))?.slice('--config-dir='.length);
  if (configDir === undefined)
    throw new CannotRun(
      `this ${program} gives its kubelet no --config-dir, which it does from 1.32 on: upgrade it, or use 'relet export FILE --to ${program} --target-version 1.31' (docs/export.md)`,
    );
  return { ...found, embedding: { program, configDir } };
}

/** `… msg="Running kubelet --a=1 --b=\"x y\""`. A value may have blanks in it; a flag begins with two dashes. */
export function loggedFlags(line: string): string[] | undefined {
  const [, quoted] = /msg="Running kubelet ((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
  if (quoted === undefined) return undefined;
  return String(JSON.parse(`"${quoted}"`)).split(/ (?=--)/);
}
