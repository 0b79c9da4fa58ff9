/** `relet describe NODE`: the state of one node's config in full sentences, with the next step. */
import { formatRef, refOf } from '../../api/config-ref.js';
import { DecodeError } from '../../config/decode.js';
import type { Minor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { agentPresence } from '../../fleet/agent-presence.js';
import { isMark } from '../../fleet/config-history.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { nodeConfigReader } from '../../fleet/node-configs.js';
import { type ConfigEvent, configEvents } from '../../fleet/node-facts.js';
import { entryBy, historyOf, resultSentence } from '../../fleet/node-history.js';
import { overlaySentence, readOverlay } from '../../fleet/payload.js';
import { readSets } from '../../fleet/read-sets.js';
import {
  aboutBefore,
  heldText,
  holdText,
  owedText,
  signingText,
  stateSentence,
  stateText,
} from '../../fleet/state-text.js';
import { shortDuration } from '../../go/short-duration.js';
import { outdatedBy } from '../../rollout/target.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, withSession } from '../session.js';
import { ageOf } from '../terminal/output.js';
import { type Terminal, wrapWords } from '../terminal/terminal.js';
import { paintState } from './node-row.js';

export const describe = (name: string, options: ConnectionOptions): Promise<void> =>
  withSession(options, async (session) => {
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const events = await configEvents(session, node.name);
    const { assigned, minor } = await nodeConfigReader(session).read(node);
    const content = assigned.text === undefined ? undefined : contentText(assigned.text, node.name, minor);
    const isOutdated = outdatedBy(await readSets(session));
    session.terminal.print(page(session, node, { events, content, isOutdated }));
  });

interface Known {
  events: ConfigEvent[];
  /** Content of the assigned ConfigMap, if it may be read. */
  content: string | undefined;
  isOutdated: ((node: ConfiguredNode) => boolean) | undefined;
}

/** An overlay is short enough to be shown in a line; a whole config is not. */
function contentText(text: string, name: string, minor: Minor): string {
  if (!isOverlay(text))
    return `a whole config, which hides the local file; 'relet convert ${name}' makes an overlay of it`;
  try {
    return `overlay, ${overlaySentence(readOverlay(text, minor))}`;
  } catch (error) {
    if (error instanceof DecodeError) return `an overlay that cannot be read: ${error.message}`;
    throw error;
  }
}

function page({ terminal, references }: Session, node: ConfiguredNode, known: Known): string {
  const nowMs = Date.now();
  const { status, condition } = node;
  const presence = agentPresence(node, nowMs).kind;
  const exact = (which: 'assigned' | 'active' | 'lastKnownGood') => {
    const source = refOf(status[which]);
    const version = source?.resourceVersion ? ` (version ${source.resourceVersion})` : '';
    const text = `${formatRef(source, 'short')}${version}`;
    if (presence === 'Present') return text;
    return presence === 'NoAgent' ? 'unknown' : `unknown; ${text} in the last report`;
  };
  const facts: [string, string | undefined][] = [
    ['Node', node.name],
    ['Kubelet', node.kubeletVersion || 'version unknown'],
    ['Ready', node.ready],
    ['relet', agentFact(node, nowMs)],
    ['Reference', `${references.kind}, ${formatRef(refOf(node.configSource), 'short')}`],
    ['Set', setText(node)],
    ['Content', known.content],
    ['Signed', node.signing && signingText(node.signing)],
    ...(node.signingTroubles ?? []).map(({ type, message }): [string, string] => ['Signatures', `${type}: ${message}`]),
    ['Assigned', exact('assigned')],
    ['Active', exact('active')],
    ['Last known good', exact('lastKnownGood')],
    ['State', paintState(stateText(node, { nowMs, isOutdated: known.isOutdated }), terminal.paint)],
    ['Held', heldFact(node)],
    [
      'Owed',
      node.owed &&
        `${owedText(node.owed, node.owed.left)}, since ${node.owed.at}; 'relet dismiss ${node.name}' drops it`,
    ],
    ['Unit', node.unitNotice && `${node.unitNotice.reason}: ${node.unitNotice.message}`],
    ['Next start', node.nextStart],
    ['Upgrade', node.upgradeRisk?.message],
    ['Boot', node.bootRisk?.message],
    ['Error', status.error && `${status.error}${aboutBefore(node)}`],
    ['Cause', node.cause],
    ['ConfigOK', condition && conditionText(node, nowMs)],
    ['Pinned by flags', node.pinnedByFlags?.join(', ') || undefined],
  ];
  const sections = [
    facts.flatMap(([title, text]) => (text === undefined ? [] : [fact(title, text, terminal)])).join('\n'),
    wrapWords(stateSentence(node, nowMs), terminal),
    section('Warnings', node.warnings, terminal),
    section('Last lines of the kubelet with that config', node.kubeletLog ?? [], terminal),
    section(
      'Last changes',
      historyOf(node)
        .slice(0, 3)
        .map((entry) => {
          const why = entry.why === undefined ? '' : `: ${entry.why}`;
          const change = isMark(entry) ? '' : `, ${entry.from} -> ${entry.to}`;
          const result = resultSentence(entry);
          return `${ageOf(entry.at, nowMs)} ago, ${entry.verb} by ${entryBy(entry)}${change}${why}${result && `; ${result}`}`;
        }),
      terminal,
    ),
    section(
      'Last events',
      known.events.slice(-5).map(({ at, reason, message }) => `${ageOf(at, nowMs)} ago, ${reason}: ${message}`),
      terminal,
    ),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

function agentFact(node: ConfiguredNode, nowMs: number): string {
  const presence = agentPresence(node, nowMs);
  if (presence.kind === 'NoAgent') return 'never reported about its config';
  const version = node.agentVersion ?? 'reports';
  if (presence.kind === 'Present') return version;
  return `${version}, silent for ${shortDuration(nowMs - presence.sinceMs)}`;
}

function heldFact({ held, hold, name }: ConfiguredNode): string | undefined {
  const onHost = held && (heldText(held).slice('held '.length) || 'on its host');
  const throughApi = hold && `${holdText(hold).slice('held '.length)}; 'relet release ${name}' releases it`;
  return [onHost, throughApi].filter((text) => text !== undefined).join('; ') || undefined;
}

function setText(node: ConfiguredNode): string | undefined {
  const membership = membershipOf(node);
  if (membership === undefined) return undefined;
  const { set, revision, wave, at } = membership.claim;
  if (membership.isTaken)
    return `${set}, which leaves it alone: somebody assigned another config than the set did at ${at}; 'relet release ${node.name}' gives it back`;
  const part = wave > 0 ? `wave ${wave}` : 'outside of waves';
  return `${set}, revision ${revision}, ${part}, since ${at}; 'relet rollout status ${set}' shows its rollout`;
}

const indent = 17;

function fact(title: string, text: string, terminal: Terminal): string {
  return `${`${title}:`.padEnd(indent)}${wrapWords(text, terminal, ' '.repeat(indent)).trimStart()}`;
}

function section(title: string, lines: string[], terminal: Terminal): string {
  if (lines.length === 0) return '';
  return [
    terminal.paint.bold(`${title}:`),
    ...lines.map((line) => wrapWords(oneLine(line), terminal, '    ').replace(/^ {4}/, '  - ')),
  ].join('\n');
}

/** ConfigOK: `True for 15s: The kubelet runs with the assigned config; ConfigActive`. */
export function conditionText(node: ConfiguredNode, nowMs: number): string {
  const { status, reason, message, since } = node.condition!;
  return `${status} for ${ageOf(since, nowMs)}${aboutBefore(node)}: ${message.replace(/\.$/, '')}; ${reason}`;
}
