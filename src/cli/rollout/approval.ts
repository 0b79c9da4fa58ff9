/**
 * Preview of an approval: how many nodes change until the rollout stops again, the differences, and their impact. If these are unknown,
 * the counts of the status are shown with the reason.
 */
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { isForbidden } from '../../api/status.js';
import { type NextStop, nextStopText, untilNextStop } from '../../rollout/next-stop.js';
import type { ApprovalPreview } from '../../rollout/plan-output.js';
import { oneLine } from '../../visible-text.js';
import { planTexts } from '../change/change-to.js';
import type { Session } from '../session.js';
import { factLines, type TextRoom } from '../terminal/facts.js';
import { wrapWords } from '../terminal/terminal.js';
import { newestAnalysisText } from './analysis-text.js';
import { planSet, type SetPlan } from './plan-set.js';
import { signersText } from './plan-signatures.js';
import { nodeObject, problemsObject, signedObject, waveText } from './plan-text.js';
import { rejectionsText } from './rehearsal-text.js';

export interface Approval {
  set: NodeConfigSet;
  revision: string;
  /** All waves up to this one are approved by it. */
  wave: number;
  next: NextStop;
  found: SetPlan | Unknown;
}

/** Why the nodes and their difference are not known, in a sentence. */
interface Unknown {
  why: string;
}

export async function readApproval(
  session: Session,
  { set, revision, wave }: Pick<Approval, 'set' | 'revision' | 'wave'>,
): Promise<Approval> {
  const found = await planFor(session, set, revision);
  const next = untilNextStop(set, wave, 'why' in found ? undefined : found.decided.waves.waves);
  return { set, revision, wave, next, found };
}

async function planFor(session: Session, set: NodeConfigSet, revision: string): Promise<SetPlan | Unknown> {
  try {
    const found = await planSet(session, set);
    if (found.revision === revision) return found;
    return { why: `The config in the spec is not revision ${revision} any more, so its nodes are not shown.` };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { why: `The nodes and their difference are not shown: ${oneLine((error as Error).message)}.` };
  }
}

export function approvalText({ set, revision, wave, next, found }: Approval, room: TextRoom): string {
  const summary = set.status?.revisions?.find((one) => one.revision === revision)?.summary;
  const facts = factLines(
    [
      ['Set', set.metadata.name],
      ['Revision', oneLine(summary === undefined ? revision : `${revision}, ${summary}`)],
      ['Signed', 'why' in found ? undefined : found.signed && signersText(found.signed)],
      ['Approves', `wave ${wave}. ${nextStopText(next)}`],
    ],
    room,
  );
  if ('why' in found) return `${facts}\n\n${wrapWords(found.why, room)}`;
  const { stalled, drains, notShown } = found;
  const changes = changesIn(next, found);
  const sections = [
    facts,
    newestAnalysisText(set.status ?? {}, room),
    stalled ? room.paint.red(wrapWords(`Warning: it would be stalled: ${oneLine(stalled.message)}`, room)) : '',
    ...wavesIn(next, found).map((one) => waveText(one, drains, room)),
    rejectionsText(found.rejections, room),
    ...planTexts(changes, room).map((text) => text.trimEnd()),
    notShown > 0 ? wrapWords(`The difference is of the first ${changes.length} nodes.`, room) : '',
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

const wavesIn = ({ waves }: NextStop, found: SetPlan) =>
  found.waves.filter(({ wave }) => waves.some((one) => one.wave === wave));

const namesIn = (next: NextStop, found: SetPlan) => new Set(wavesIn(next, found).flatMap(({ names }) => names));

function changesIn(next: NextStop, found: SetPlan): SetPlan['changes'] {
  const names = namesIn(next, found);
  return found.changes.filter(({ node }) => names.has(node.name));
}

export function approvalObject({ next, found }: Pick<Approval, 'next' | 'found'>): ApprovalPreview {
  const namesOf = (wave: number) => ('why' in found ? undefined : found.waves.find((one) => one.wave === wave)?.names);
  return {
    text: 'why' in found ? `${nextStopText(next)} ${found.why}` : nextStopText(next),
    waves: next.waves.map(({ wave, nodes: count }) => {
      const nodes = namesOf(wave);
      return { wave, count, ...(nodes && { nodes }) };
    }),
    skipped: next.skipped,
    ...(!('why' in found) && found.signed && { signed: signedObject(found.signed) }),
    ...(next.waitsAfter !== undefined && { waitsAfter: next.waitsAfter }),
    ...('why' in found ? { drains: [], nodes: [] } : detailsIn(next, found)),
  };
}

function detailsIn(
  next: NextStop,
  found: SetPlan,
): Pick<ApprovalPreview, 'stalled' | 'rejections' | 'drains' | 'nodes'> {
  const names = namesIn(next, found);
  return {
    ...problemsObject(found),
    drains: found.drains.drains.filter(({ node }) => names.has(node)),
    nodes: changesIn(next, found).map(nodeObject),
  };
}
