/**
 * The common path of every verb that changes nodes. Checks the new config of each node as its kubelet would, shows the difference to
 * the running config (once for nodes with the same difference), asks for confirmation, and makes the change.
 */
import type { Interface } from 'node:readline/promises';
import { formatRef, refOf } from '../../api/config-ref.js';
import { restartsApiServer } from '../../api/driver-name.js';
import { CannotRun } from '../../cannot-run.js';
import { type ConfiguredNode, configState, membershipOf } from '../../fleet/configured-node.js';
import { listFieldPolicies, type PolicedNode, policyRejections, rejectionText } from '../../fleet/field-policies.js';
import {
  acceptError,
  acceptNeeded,
  type FieldChange,
  isOpen,
  type Preview,
  summarize,
  wayAhead,
} from '../../fleet/preview.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import type { Session } from '../session.js';
import { previewText } from '../terminal/change-text.js';
import type { TextRoom } from '../terminal/facts.js';
import { hanging, isTerminal, wrap } from '../terminal/terminal.js';
import { type ChangeOptions, isDryRun, makeChanges, reportNotChanged } from './change.js';
import { namesOf } from './outcome.js';
import { isUnchanged, type PlannedChange, type PlanOptions, planChange, type RequestedChange } from './plan.js';
import { signPlans } from './sign-plans.js';

export interface ChangeVerbOptions extends ConnectionOptions, ChangeOptions, PlanOptions {
  yes?: boolean;
  /** Classes of impact above a restart that the person accepts. */
  accept?: string[];
}

export interface ChangeToOptions extends ChangeVerbOptions {
  /** `which`: the name of the node, or how many there are. */
  question(which: string): string;
  /** The nodes return to a config that they had. */
  isReturn?: boolean;
}

export async function changeTo(
  session: Session,
  verb: string,
  requested: RequestedChange[],
  { question, isReturn = false, ...asked }: ChangeToOptions,
): Promise<void> {
  const options = { ...asked, accept: acceptedBy(asked) };
  const unchanged = requested.filter(isUnchanged);
  for (const change of unchanged) printUnchanged(session, change);
  const wanted = requested.filter((change) => !unchanged.includes(change));
  const nodes = unchanged.map(({ now }) => now.node);
  if (wanted.length === 0) return makeChanges(session, verb, [], options, nodes);
  const plans: PlannedChange[] = [];
  // A dry run shows what has to be accepted, and is not refused for it.
  let missing: string[] = [];
  try {
    if (!options.takeFromSet) refuseMembers(wanted.map(({ now }) => now.node));
    const unchecked = await rejectByPolicy(session, wanted);
    for (const change of wanted) {
      const notes = [...(change.notes ?? []), ...notesOnRestart(change), ...unchecked];
      const planned = planChange(session, { ...change, notes }, options);
      plans.push(withDrain(planned, options.drain));
    }
    session.terminal.print(planTexts(plans, session.terminal).join('\n'));
    if (plans.length > 1 && ['set', 'assign'].includes(verb)) suggestSet(session);
    if (isDryRun(options)) missing = missingIn(plans, options.accept);
    refuseUnaccepted(plans, [...(options.accept ?? []), ...missing], isReturn);
    const which = plans.length === 1 ? plans[0]!.node.name : `${plans.length} nodes`;
    if (!isDryRun(options) && !(await confirm(session, question(which), options.yes))) {
      session.terminal.print('Nothing was changed.');
      process.exitCode = 1;
      return;
    }
  } catch (error) {
    return reportNotChanged(session, { verb, changes: plans, unchanged: nodes }, options, error);
  }
  const signed = isDryRun(options) ? plans : await signPlans(session, plans, options);
  await makeChanges(session, verb, signed, options, nodes);
  if (missing.length > 0) session.terminal.print(neededText(missing, isReturn));
}

function notesOnRestart({ now: { node } }: RequestedChange): string[] {
  if (!restartsApiServer(node.driver)) return [];
  return ['the kubelet is a part of the server of k3s or RKE2: its restart is one of the API server of this host.'];
}

/** After a dry run. */
const neededText = (missing: string[], isReturn: boolean): string =>
  missing.join() === 'drain' && !isReturn
    ? 'This change needs --drain, or --accept=drain to change it without a drain.'
    : `This change needs --accept=${missing.join(',')}.`;

/** A drain that relet does itself needs no --accept. */
const acceptedBy = ({ accept = [], drain = 'Never' }: ChangeVerbOptions): string[] =>
  drain === 'Never' ? accept : [...new Set([...accept, 'drain'])];

/** With --drain, no drain is left to do afterwards; the agent may set state files aside. */
function withDrain(plan: PlannedChange, policy: ChangeVerbOptions['drain'] = 'Never'): PlannedChange {
  const isNeeded = plan.preview?.changes.some((change) => isOpen(change, [])) ?? false;
  if (policy === 'Never' || (policy === 'WhenNeeded' && !isNeeded)) return plan;
  const needs = plan.owed?.needs.filter((one) => one !== 'drain') ?? [];
  const owed = plan.owed && needs.length > 0 ? { ...plan.owed, needs, drained: true as const } : undefined;
  return { ...plan, isDrained: true, owed, notes: [...plan.notes, 'it is drained before the change.'] };
}

/** Throws for nodes of a set: changing one of them alone needs --take-from-set. A node that was taken belongs to no set. */
export function refuseMembers(nodes: readonly ConfiguredNode[]): void {
  const bySet = new Map<string, string[]>();
  for (const node of nodes) {
    const membership = membershipOf(node);
    if (membership === undefined || membership.isTaken) continue;
    const { set } = membership.claim;
    bySet.set(set, [...(bySet.get(set) ?? []), node.name]);
  }
  const [first] = bySet;
  if (first === undefined) return;
  const who = [...bySet].map(([set, names]) => `${namesOf(names)} (set ${set})`).join('; ');
  const [set, names] = first;
  throw new CannotRun(
    `nothing was changed: a set keeps its nodes on one config, and has these: ${who}. Change the set instead ('relet set --as-set ${set} …', or in Git), or change the nodes alone with --take-from-set; 'relet release ${names[0]}' gives a node back to its set`,
  );
}

/** Throws if a field policy of the cluster does not allow a config. Returns a note if they cannot be listed. */
async function rejectByPolicy(
  { client, references, signal }: Session,
  requested: RequestedChange[],
): Promise<string[]> {
  if (references.kind !== 'NodeConfig') return [];
  const policies = await listFieldPolicies(client, signal);
  if (policies === 'forbidden')
    return ["the field policies of the cluster were not checked: that needs 'list' on fieldpolicies.relet.dev."];
  const rejections = [...byText(requested)].flatMap(([text, nodes]) => policyRejections(policies, text, nodes));
  if (rejections.length === 0) return [];
  throw new CannotRun(
    `nothing was changed: the field policies of the cluster do not allow this config:\n${rejections.map((one) => `  ${rejectionText(one)}`).join('\n')}\nChange the config, or ask an administrator to change the policy ('kubectl get fieldpolicies').`,
  );
}

function byText(requested: RequestedChange[]): Map<string, PolicedNode[]> {
  const nodes = new Map<string, PolicedNode[]>();
  for (const { now, target } of requested) {
    if (target.kind === 'local') continue;
    const { name, labels } = now.node;
    const { minor, localFiles, flags } = now;
    nodes.set(target.text, [...(nodes.get(target.text) ?? []), { name, labels, minor, localFiles, flags }]);
  }
  return nodes;
}

/** One text for each difference. */
export const planTexts = (plans: PlannedChange[], room: TextRoom): string[] =>
  groupsOf(plans).map((group) => groupText(group, room));

/** Plans with the same difference. Which pods fail, and the names of the ConfigMaps, may differ from node to node. */
function groupsOf(plans: PlannedChange[]): PlannedChange[][] {
  const groups = new Map<string, PlannedChange[]>();
  for (const plan of plans) {
    const lines = plan.preview && previewText({ ...plan.preview, pods: { kind: 'unknown' } }, 80);
    const key = JSON.stringify(lines ?? places(plan));
    groups.set(key, [...(groups.get(key) ?? []), plan]);
  }
  return [...groups.values()];
}

const places = ({ node, to }: PlannedChange): string =>
  `${formatRef(refOf(node.configSource), 'short')} -> ${formatRef(refOf(to), 'short')}`;

function headingOf(group: PlannedChange[]): string {
  const names = namesOf(group.map(({ node }) => node.name));
  const all = new Set(group.map(places));
  return all.size === 1 ? `${names}: ${[...all][0]}` : `${names}:`;
}

function groupText(group: PlannedChange[], terminal: TextRoom): string {
  const lines = [terminal.paint.bold(hanging(headingOf(group), terminal))];
  for (const words of new Set(group.flatMap(({ warnings }) => warnings)))
    lines.push(terminal.paint.red(wrap(`Warning: ${words}`, terminal.columns)));
  const preview = together(group);
  if (preview !== undefined) lines.push(...previewText(preview, terminal.columns, terminal.paint));
  if (preview?.changes.length === 0)
    lines.push(wrap('Impact: kubelet restart, unless its config stays the same byte for byte.', terminal.columns));
  const notes = new Map<string, string[]>();
  for (const plan of group)
    for (const words of plan.notes) notes.set(words, [...(notes.get(words) ?? []), plan.node.name]);
  for (const [words, about] of notes) lines.push(note(terminal, `${namesOf(about)}: ${words}`));
  return `${lines.join('\n')}\n`;
}

/** The same changes on each node; the pods of all of them. */
function together(group: PlannedChange[]): Preview | undefined {
  const previews = group.flatMap(({ preview }) => preview ?? []);
  if (previews.length === 0) return undefined;
  const effects = previews.map(({ pods }) => pods);
  const failures = effects.flatMap((effect) => (effect.kind === 'fail admission' ? effect.pods : []));
  const { pods } = summarize(
    previews.flatMap(({ changes }) => changes),
    failures,
  );
  return { ...previews[0]!, pods };
}

const note = ({ paint, columns }: TextRoom, text: string): string => paint.yellow(wrap(`Note: ${text}`, columns));

/** A person who changes many nodes should know that there is a way that does not end with the terminal. */
function suggestSet({ terminal, references }: Session): void {
  if (terminal.width === undefined || references.kind === 'Node') return;
  terminal.print(
    note(terminal, 'this stops with the terminal; --as-set NAME writes a set, which continues without it.'),
  );
}

/** Impacts that --accept lacks. */
function missingIn(plans: PlannedChange[], accepted: readonly string[] = []): string[] {
  const needsReload =
    plans.some(({ needs }) => needs?.includes('daemon-reload')) && !accepted.includes('daemon-reload');
  return [...acceptNeeded({ changes: fieldChanges(plans) }, accepted), ...(needsReload ? ['daemon-reload'] : [])];
}

const fieldChanges = (plans: PlannedChange[]): FieldChange[] => plans.flatMap(({ preview }) => preview?.changes ?? []);

/** A node whose assigned config was rejected or rolled back counts as failed, even if nothing is left to change. */
function printUnchanged({ terminal }: Session, { now: { node }, notes = [], already }: RequestedChange): void {
  const state = configState(node);
  const hasFailed = already === undefined && (state === 'rejected' || state === 'rolled back');
  const words = hasFailed
    ? `is assigned that already, and it was ${state}; see 'relet describe ${node.name}'`
    : (already ?? 'has that already, nothing to change');
  terminal.print(hanging(`${node.name}: ${words}`, terminal));
  for (const one of notes) terminal.print(note(terminal, `${node.name}: ${one}`));
  if (hasFailed) process.exitCode = 1;
}

/** Throws with the flag that lets the change through, if there is one. */
function refuseUnaccepted(plans: PlannedChange[], accepted: string[] | undefined, isReturn: boolean): void {
  const changes = new Map<string, { change: FieldChange; node: string }>();
  for (const { preview, node } of plans)
    for (const change of preview?.changes ?? [])
      if (!changes.has(`${change.path} ${change.needs}`))
        changes.set(`${change.path} ${change.needs}`, { change, node: node.name });
  const error = acceptError({ changes: [...changes.values()].map(({ change }) => change) }, accepted, { isReturn });
  if (error !== undefined) throw new CannotRun(`nothing was changed: ${error}`);
  const reloading = plans.find(({ needs }) => needs?.includes('daemon-reload'))?.node.name;
  if (reloading !== undefined && !accepted?.includes('daemon-reload'))
    throw new CannotRun(
      `nothing was changed: the agent of ${reloading} reloads systemd, and running containers may lose their GPUs; see docs/attached-mode.md. To go ahead, ${wayAhead(missingIn(plans), { isReturn })}`,
    );
}

/** Asks for confirmation on a terminal; a script uses --yes. Throws if there is no terminal. */
export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (process.stdin.isTTY !== true || session.terminal.width === undefined || !isTerminal())
    throw new CannotRun('cannot ask for confirmation without a terminal; nothing was changed, use --yes');
  // Loaded only to ask: most runs have --yes, or only preview.
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // In raw mode the terminal sends no SIGINT: readline gets the key and emits an event.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await Promise.race([
      lines.question(`${oneLine(question)} [y/N] `, { signal: session.signal }),
      closed(lines),
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    session.terminal.print('\n');
    if (session.signal.aborted) (session.signal.reason as Error).message += '; nothing was changed';
    session.signal.throwIfAborted();
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
    session.terminal.print('No answer: the input ended (Ctrl-D). This counts as no.');
    return false;
  } finally {
    lines.close();
  }
}

/** Ctrl-D, or a terminal that was closed. Some versions of Node then leave the question open, others reject it like this. */
const closed = (lines: Interface): Promise<never> =>
  new Promise((_resolve, reject) =>
    lines.once('close', () => reject(Object.assign(new Error('the input ended'), { name: 'AbortError' }))),
  );
