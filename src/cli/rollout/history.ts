/** `relet rollout history SET`: the revisions of a set, and how each ended. */
import type { NodeConfigSet, SetRevision } from '../../api/node-config-set.js';
import { assess } from '../../fleet/rollout-assessment.js';
import { shortDuration } from '../../go/short-duration.js';
import type { ConnectionOptions } from '../command-line.js';
import { withSession } from '../session.js';
import { ageOf, type Column, tableLines } from '../terminal/output.js';
import type { Terminal } from '../terminal/terminal.js';
import { readSet, setName } from './read-set.js';

export interface HistoryOptions extends ConnectionOptions {
  output: 'text' | 'json';
}

export const history = (word: string, options: HistoryOptions): Promise<void> =>
  withSession(options, async (session) => {
    const set = await readSet(session, setName(word));
    const { terminal } = session;
    if (options.output === 'json') return terminal.print(JSON.stringify(set.status?.revisions ?? [], null, 2));
    terminal.print(historyText(set, Date.now(), terminal));
  });

export function historyText(set: NodeConfigSet, nowMs: number, { width }: Pick<Terminal, 'width'>): string {
  const { revisions = [] } = set.status ?? {};
  if (revisions.length === 0) return `No revision of ${set.metadata.name} has been rolled out.`;
  const columns: Column<SetRevision>[] = [
    { title: 'REVISION', cell: ({ revision }) => revision, gives: 'start' },
    { title: 'STARTED', cell: ({ startedAt }) => ageOf(startedAt, nowMs) },
    { title: 'TOOK', cell: (one) => tookText(one) },
    { title: 'OUTCOME', cell: (one) => outcomeText(one, set) },
    { title: 'CHANGE', cell: ({ summary = '' }) => summary, gives: 'end' },
  ];
  return tableLines(columns, revisions, width).join('\n');
}

const tookText = ({ startedAt, endedAt }: SetRevision): string =>
  endedAt === undefined ? '' : shortDuration(Date.parse(endedAt) - Date.parse(startedAt));

/** A rollout that has stopped and may be retried has no outcome yet: `Halted` is the reason that it stopped. */
function outcomeText({ revision, outcome }: SetRevision, set: NodeConfigSet): string {
  const { currentRevision, updateRevision } = set.status ?? {};
  if (outcome !== undefined) return revision === currentRevision ? `${outcome}, current` : outcome;
  if (revision !== updateRevision) return '';
  const assessment = assess(set);
  return assessment.kind === 'stopped' ? assessment.reason : 'rolling out';
}
