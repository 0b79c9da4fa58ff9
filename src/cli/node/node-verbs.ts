/** `relet node …`: inspects and controls relet on the host itself, also while the API is down. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { childRecord } from '../../agent/drivers/child.js';
import { answers } from '../../agent/drivers/systemd/agent-lock.js';
import { hostLayout, lockPath } from '../../agent/drivers/systemd/host-layout.js';
import { type HostStatus, readHostStatus } from '../../agent/host-status.js';
import { reportRecord } from '../../agent/report/reporter.js';
import { handleRequest, type Request, requestRecord } from '../../agent/requests.js';
import { NodeState, sourceOf } from '../../agent/state/node-state.js';
import { type ExactRef, isExactRef, sameConfig } from '../../api/config-ref.js';
import { isAttached } from '../../api/driver-name.js';
import { realFiles } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { overlayHeader } from '../../config/header.js';
import { tryParseDuration } from '../../go/duration.js';
import { createLog } from '../../log.js';
import { systemProcesses as host, kill } from '../../proc.js';
import { lockHolder, takeLock } from '../../process-lock.js';
import { oneLine } from '../../visible-text.js';
import { oneOf, runVerb, verb } from '../command-line.js';
import { hanging, openTerminal, printError, type Terminal, writeOut } from '../terminal/terminal.js';
import { nodeDirs, usedDir } from './node-dirs.js';
import { type NodeVerb, nodeVerbs } from './node-verb-names.js';

export interface DirOption {
  dynamicConfigDir?: string;
}

const log = createLog({ format: 'text', level: 'warn', write: (line) => process.stderr.write(line) });
/** Time limit for a running relet to execute a request. */
const patienceMs = 20_000;

export async function run(args: string[]): Promise<void> {
  const node = verb('relet node', 'Inspect and control this node on the host; needs no API');
  const add = (name: NodeVerb) =>
    node
      .command(name)
      .description(nodeVerbs.find(([known]) => known === name)![1])
      .option('--dynamic-config-dir <DIR>', `default ${nodeDirs.join(' or ')}, whichever relet uses`);
  add('status')
    .addOption(oneOf('-o, --output <FORMAT>', 'how to print it', ['text', 'json']))
    .action((options: DirOption & { output: string }) => showStatus(options));
  view(add('view'));
  const ask = (name: NodeVerb, request: Request) => add(name).action((options: DirOption) => order(options, request));
  ask('use-local', { verb: 'use-local', ...who() });
  ask('retry', { verb: 'retry' }).alias('clear-verdict');
  add('hold')
    .option('-m, --why <TEXT>', 'a reason, shown in status', 'asked for on the host')
    .action((options: DirOption & { why: string }) => order(options, { verb: 'hold', why: options.why, ...who() }));
  ask('release', { verb: 'release' });
  add('accept-unsigned')
    .requiredOption('--for <DURATION>', 'for how long, at most 24h; 0s ends it')
    .requiredOption('--reason <TEXT>', 'why, shown in the condition UnsignedAccepted')
    .action((options: DirOption & { for: string; reason: string }) =>
      order(options, { verb: 'accept-unsigned', seconds: secondsIn(options.for), why: options.reason, ...who() }),
    );
  await runVerb(node, args);
}

function secondsIn(duration: string): number {
  const seconds = Number((tryParseDuration(duration) ?? -1n) / 1_000_000_000n);
  if (seconds < 0 || seconds > 86_400 || !/\d/.test(duration))
    throw new CannotRun(`--for=${duration} must be a duration of at most 24h, such as 30m or 1h`);
  return seconds;
}

/** The person at the keyboard, as far as the environment shows it; root became root with sudo. */
export function who(): { who?: string } {
  const name = process.env.SUDO_USER ?? process.env.USER;
  return name ? { who: name } : {};
}

function open({ dynamicConfigDir }: DirOption): { dir: string; state: NodeState } {
  const dir = dynamicConfigDir ?? usedDir(nodeDirs, { host, files: realFiles });
  if (realFiles.stat(join(dir, 'meta'))?.isDirectory() !== true)
    throw new CannotRun(`${dir} is not a dynamic config directory of relet; name the node's with --dynamic-config-dir`);
  return { dir, state: new NodeState(dir, log) };
}

function showStatus(options: DirOption & { output: string }): void {
  const { dir, state } = open(options);
  const status = readHostStatus(dir, state, { host, files: realFiles, clock: systemClock });
  const terminal = openTerminal();
  terminal.print(options.output === 'json' ? JSON.stringify(status, null, 2) : asText(status, terminal));
}

function asText(status: HostStatus, terminal: Terminal): string {
  const { relet, trial, held } = status;
  const lines: [string, string | undefined][] = [
    ['node', status.node || undefined],
    ['relet', relet ? `running (pid ${relet.pid})` : 'not running'],
    ['kubelet', kubeletText(status)],
    ['assigned', status.assigned],
    ['active', status.active],
    ['next start', status.nextStart],
    ['last known good', status.lastKnownGood],
    ['previous config', status.previousConfig],
    ['on trial', trial && `healthy for ${trial.healthySeconds} s, ${trial.deaths} crashes`],
    ['error', status.error],
    ['cause', status.cause],
    ...status.notices.map(({ reason, message }): [string, string] => ['unit', `${reason}: ${message}`]),
    ...status.warnings.map((warning): [string, string] => ['warning', warning]),
    ...status.failures.map(({ at, error, cause }): [string, string] => ['failed', `${at}: ${error}: ${cause}`]),
    ['held', held && `since ${held.since}${held.who ? ` by ${held.who}` : ''}: ${held.why}`],
    ...signingLines(status),
    ['reported', reportedText(status)],
  ];
  return lines
    .flatMap(([name, value]) =>
      value === undefined ? [] : hanging(`${name}:`.padEnd(17) + oneLine(value), terminal, 17),
    )
    .join('\n');
}

function signingLines({ signing, active }: HostStatus): [string, string][] {
  if (signing === undefined) return [];
  const { floor, signers, serial, unsigned } = signing;
  const lines: [string, string][] = [['signatures', `required${floor > 0 ? `, serials from ${floor} on` : ''}`]];
  if (active !== 'local config') lines.push(['signed', signers ? `by ${signers.join(', ')}, serial ${serial}` : 'no']);
  if (unsigned !== undefined) {
    const { until, who, why } = unsigned;
    lines.push(['unsigned', `accepted until ${until}${who ? `, by ${who}` : ''}: ${why}`]);
  }
  return lines;
}

function kubeletText({ kubelet, driver }: HostStatus): string {
  if (isAttached(driver)) return "in its own unit: 'systemctl status' shows it";
  return kubelet ? `${kubelet.version}, running (pid ${kubelet.pid})` : 'not running';
}

function reportedText({ changedAt, reportedAt }: HostStatus): string | undefined {
  if (changedAt === undefined) return undefined;
  if (reportedAt === undefined) return `never; the API does not have what changed at ${changedAt}`;
  return reportedAt >= changedAt ? reportedAt : `${reportedAt}; the API does not have what changed at ${changedAt}`;
}

function view(command: Command): void {
  command
    .argument('[CONFIG]', 'assigned, last-known-good or active', 'active')
    .action((which: string, options: DirOption) => {
      const { state } = open(options);
      const active = () => state.read(childRecord)?.source ?? activeSource(state);
      const sources: Record<string, () => ReturnType<typeof sourceOf>> = {
        assigned: () => withMerged(sourceOf(state.assigned()), active()),
        'last-known-good': () => sourceOf(state.lastKnownGood()),
        active,
      };
      if (!Object.hasOwn(sources, which))
        throw new CannotRun(`there is no config '${which}'; choose one of ${Object.keys(sources).join(', ')}`);
      const source = sources[which]!();
      if (source === undefined)
        return printError(`relet: ${which} is the local config: see the kubelet's own --config and flags`);
      try {
        openTerminal().printDocument(textOf(state, source));
      } catch (error) {
        throw new CannotRun(`cannot show it: ${(error as Error).message}`);
      }
    });
}

/** The record of an assignment names no merged document; where it runs, it is the one that runs. */
function withMerged(assigned: ExactRef | undefined, active: ExactRef | undefined): ExactRef | undefined {
  return active !== undefined && sameConfig(assigned, active, 'version') ? active : assigned;
}

/** As the kubelet gets it: of an overlay, the merged document. */
function textOf(state: NodeState, source: ExactRef): string {
  const merged = source.mergedDigest === undefined ? undefined : state.documents.read(source.mergedDigest);
  if (merged !== undefined) return merged;
  const text = state.checkpoints.load(source).config.toString();
  if (text.includes(overlayHeader.kind))
    printError('relet: this is the overlay; it is merged into the local config when the kubelet is started with it');
  return text;
}

/** Active config of a kubelet in its own unit, as it was reported. */
function activeSource(state: NodeState): ReturnType<typeof sourceOf> {
  const active = state.read(reportRecord)?.active?.configMap;
  return isExactRef(active) ? active : undefined;
}

/** A running relet executes the request; otherwise the records are changed here, with effect from the next start on. */
export async function order(options: DirOption, request: Request): Promise<void> {
  const { dir, state } = open(options);
  const path = join(dir, 'meta', 'lock');
  const holder = lockHolder({ path, host, files: realFiles });
  if (holder === undefined && (await answers(lockPath))) {
    const { tool } = hostLayout({ unit: 'kubelet.service', dir: nodeDirs[0] });
    throw new CannotRun(
      request.verb === 'detach'
        ? `the agent of this host runs in a pod; use 'relet detach NODE' without --image, or '${tool} detach --host' on the host`
        : `the agent of this host runs in a pod; ask it there, with '${tool} node ${request.verb}' on the host or with 'kubectl exec'`,
    );
  }
  if (holder === undefined) {
    const lock = takeLock({ path, host, files: realFiles });
    handleRequest(state, request, new Date());
    lock.release();
    writeOut(`${request.verb}: done; relet is not running here, so it takes effect at its next start\n`);
    return;
  }
  state.write(requestRecord, request);
  kill(holder.pid, 'SIGHUP');
  const deadline = systemClock.monotonic() + patienceMs;
  while (realFiles.stat(join(dir, 'meta', 'request')) !== undefined) {
    if (systemClock.monotonic() > deadline)
      throw new CannotRun(`relet (pid ${holder.pid}) has not answered within ${patienceMs / 1000} s; see its log`);
    await systemClock.sleep(50);
  }
  writeOut(`${request.verb}: done by relet (pid ${holder.pid})\n`);
}
