/** Finds the kubelet of this host for `relet agent`: its unit, its command and flags, and the parts of the host that the agent can read. */
import { readFileSync } from 'node:fs';
import { commandRunner, type RunCommand } from '../../agent/drivers/command.js';
import { hostCommand } from '../../agent/drivers/systemd/host-command.js';
import { hostPlugin } from '../../agent/drivers/systemd/host-plugin.js';
import type { Systemd, UnitState } from '../../agent/drivers/systemd/systemd.js';
import { type DividedCommandLine, divideCommandLine } from '../../agent/flags.js';
import type { NodeOptions } from '../../agent/options.js';
import { localFileOf } from '../../agent/validate/host-facts.js';
import { CannotRun } from '../../cannot-run.js';
import { readPlain } from '../../config/plain-document.js';
import type { RunPlugin } from '../../kube/exec-plugin.js';
import { type Kubeconfig, parseKubeconfig } from '../../kube/kubeconfig.js';
import type { Log } from '../../log.js';
import { systemRandom } from '../../random.js';
import type { AgentFlags } from './agent-flags.js';
import { embeddedCommand, embeddingProgram } from './embedded-kubelet.js';
import { type HostView, hostView, isInPod, podView } from './host-view.js';
import {
  checkOwner,
  layoutOf,
  otherUnits,
  readProcessCommand,
  readUnitCommand,
  type UnitCommand,
} from './kubelet-unit.js';
import type { PolicyFile } from './prepare-agent.js';

/** Input of every form of the command. */
export interface AttachInput {
  flags: AgentFlags;
  systemd: Systemd;
  host: Host;
  policy: PolicyFile;
  log: Log;
}

export interface Host {
  inPod: boolean;
  view: HostView;
  run: RunCommand;
  /** Runs the exec plugin of the kubelet's kubeconfig. */
  runPlugin: RunPlugin;
}

export function thisHost(systemd: Systemd, unit: string, env: Record<string, string | undefined>): Host {
  const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
  const parts = { systemd, random: systemRandom };
  const runPlugin = hostPlugin({ ...parts, unit });
  if (!isInPod(env, mountinfo)) return { inPod: false, view: hostView, run: commandRunner(env), runPlugin };
  const run = hostCommand(parts);
  return { inPod: true, view: podView({ mountinfo, run }), run, runPlugin };
}

export interface AttachedKubelet extends UnitCommand {
  /** Invocation of the start that is under way, or was the last. */
  invocation: string;
  /** How the unit was set up, for people. */
  layout: string;
  /** Its flags, and the options of the agent. */
  divided: DividedCommandLine;
  kubeconfig: string | undefined;
  nodeName: string | undefined;
}

const commandTimeoutMs = 10_000;

/**
 * Throws CannotRun where the agent cannot work, with what to do about it. To leave the host it does not need the API: with `detach` a
 * kubeconfig that cannot be read is none.
 */
export async function findKubelet(
  systemd: Systemd,
  { view, run, inPod }: Host,
  flags: AgentFlags,
  { detach = false } = {},
): Promise<AttachedKubelet> {
  const { unit: name, dir } = flags;
  const unit = await systemd.unit(name);
  if (unit.loadState === 'not-found') throw await noSuchUnit(systemd, name);
  const facts = { name, ...unit };
  checkOwner(facts);
  const program = embeddingProgram(unit);
  const found =
    program === undefined
      ? ((await runningCommand(unit, { run, flags })) ??
        (await readUnitCommand(facts, { read: (path) => view.readText(path), dir })))
      : await embeddedCommand(facts, program, run);
  const divided = { ...divideCommandLine(found.args), options: optionsFor(found, flags) };
  const { values } = divided;
  const named = flags.kubeconfig ?? values.get('kubeconfig')?.at(-1);
  const nodeName = flags.nodeName ?? values.get('hostname-override')?.at(-1);
  if (inPod)
    for (const path of [localFileOf(values, undefined), values.get('config-dir')?.at(-1)])
      if (path && !view.isVisible(path)) throw notMounted({ path });
  const unseen = inPod && named ? await unseenOf(named, view) : undefined;
  if (unseen !== undefined && !detach) throw notMounted(unseen);
  const kubeconfig = unseen === undefined ? named : undefined;
  return { ...found, invocation: unit.invocationId, layout: layoutOf(facts), divided, kubeconfig, nodeName };
}

interface UnseenFile {
  path: string;
  /** For people. */
  role?: string;
}

const rolesInKubeconfig = {
  'certificate-authority': 'certificate authority',
  'client-certificate': 'client certificate',
  'client-key': 'client key',
  tokenFile: 'token file',
} as const;

/** The kubeconfig, or a file that it names and that is on the host, if this pod does not see it. */
async function unseenOf(kubeconfig: string, view: HostView): Promise<UnseenFile | undefined> {
  if (!view.isVisible(kubeconfig)) return { path: kubeconfig };
  const { contexts, currentContext, clusters, users } = (await readKubeconfig(kubeconfig, view)) ?? {};
  const { cluster = '', user = '' } = contexts?.get(currentContext ?? '') ?? {};
  const named = { ...clusters?.get(cluster), ...users?.get(user) };
  for (const [field, role] of Object.entries(rolesInKubeconfig)) {
    const path = named[field as keyof typeof rolesInKubeconfig];
    // Only its name is read: it may be a key.
    if (path && !view.isVisible(path) && (await view.hasEntries(path)))
      return { path, role: `the ${role} of ${kubeconfig}` };
  }
  return undefined;
}

/** Undefined before TLS bootstrap has written it, and where it cannot be parsed, which is reported where it is used. */
async function readKubeconfig(path: string, view: HostView): Promise<Kubeconfig | undefined> {
  try {
    return parseKubeconfig((await view.readText(path)) ?? '', path, readPlain);
  } catch {
    return undefined;
  }
}

/** k3s starts much else before its kubelet. */
const embeddedDeadlineMs = 120_000;

function optionsFor({ embedding }: UnitCommand, { options, hasOwnDeadline }: AgentFlags): NodeOptions {
  if (embedding === undefined || hasOwnDeadline) return options;
  return { ...options, trialHealthDeadlineMs: embeddedDeadlineMs };
}

/** The running command counts, since a changed unit takes effect with the next start. Undefined if no kubelet runs. */
async function runningCommand(
  { mainPid }: UnitState,
  { run, flags: { unit: name, dir, importFrom } }: { run: RunCommand; flags: AgentFlags },
): Promise<UnitCommand | undefined> {
  if (mainPid === 0) return undefined;
  const { stdout } = await run(['/bin/cat', `/proc/${mainPid}/cmdline`], commandTimeoutMs);
  const words = stdout.split('\0').slice(0, -1);
  try {
    return readProcessCommand(words, { name, dir });
  } catch (error) {
    // 'relet kubelet' of before, which the first restart ends.
    if (importFrom !== undefined) return undefined;
    throw error;
  }
}

async function noSuchUnit(systemd: Systemd, name: string): Promise<CannotRun> {
  const others = otherUnits(await systemd.unitNames().catch(() => []));
  return new CannotRun(`there is no unit ${name} on this host: ${others}`);
}

const notMounted = ({ path, role }: UnseenFile): CannotRun =>
  new CannotRun(
    `${path} of the host${role === undefined ? '' : `, ${role},`} is not mounted into this pod, and the agent reads it: add its directory to the agent's hostPaths (agent.extraHostPaths of the chart)`,
  );
