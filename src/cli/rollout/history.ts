/** `relet rollout history SET`: the revisions of a set, and how each ended. */
import type { NodeConfigSet, NodeConfigSetStatus, SetRevision } from '../../api/node-config-set.js';
import { shortDuration } from '../../go/short-duration.js';
import type { ConnectionOptions } from '../command-line.js';
import { withSession } from '../session.js';
import { ageOf, type Column, tableLines } from '../terminal/table.js';
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

export function historyText(
  { metadata: { name }, status = {} }: NodeConfigSet,
  nowMs: number,
  { width }: Pick<Terminal, 'width'>,
): string {
  const { revisions = [] } = status;
  if (revisions.length === 0) return `No revision of ${name} has been rolled out.`;
  const columns: Column<SetRevision>[] = [
    { title: 'REVISION', cell: ({ revision }) => revision, gives: 'start' },
    { title: 'STARTED', cell: ({ startedAt }) => ageOf(startedAt, nowMs) },
    { title: 'TOOK', cell: (one) => tookText(one) },
    { title: 'OUTCOME', cell: (one) => outcomeText(one, status) },
    { title: 'CHANGE', cell: ({ summary = '' }) => summary, gives: 'end' },
  ];
  return tableLines(columns, revisions, width).join('\n');
}

const tookText = ({ startedAt, endedAt }: SetRevision): string =>
  endedAt === undefined ? '' : shortDuration(Date.parse(endedAt) - Date.parse(startedAt));

function outcomeText({ revision, outcome }: SetRevision, { currentRevision, updateRevision }: NodeConfigSetStatus) {
  if (outcome !== undefined) return revision === currentRevision ? `${outcome}, current` : outcome;
  return revision === updateRevision ? 'rolling out' : '';
}
