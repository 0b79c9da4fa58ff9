/** `relet rollout history SET`: the revisions of a set with their results, and its steps: author, time, reason, failures. */
import type { NodeConfigSet, SetRevision, SetStep } from '../../api/node-config-set.js';
import { whoText } from '../../fleet/node-history.js';
import { shortDuration } from '../../go/short-duration.js';
import { assess } from '../../rollout/assessment.js';
import type { ConnectionOptions } from '../command-line.js';
import { ageOf, type Column, tableLines, writeResult } from '../terminal/output.js';
import type { Terminal } from '../terminal/terminal.js';
import { withSet } from './read-set.js';
import type { ShownOutput } from './result.js';

export interface HistoryOptions extends ConnectionOptions {
  output?: ShownOutput;
}

export const history = (word: string, options: HistoryOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { terminal } = session;
    const { output } = options;
    if (output === undefined || output === 'wide') return terminal.print(historyText(set, Date.now(), terminal));
    const names = (set.status?.revisions ?? []).map(({ revision }) => revision);
    terminal.printDocument(writeResult(output, withSteps(set), names));
  });

/** Each revision with the steps of its own. */
function withSteps({ status: { revisions = [], steps = [] } = {} }: NodeConfigSet): object[] {
  return revisions.map((one) => ({ ...one, steps: steps.filter(({ revision }) => revision === one.revision) }));
}

export function historyText(set: NodeConfigSet, nowMs: number, { width }: Pick<Terminal, 'width'>): string {
  const { revisions = [], steps = [] } = set.status ?? {};
  if (revisions.length === 0) return `No revision of ${set.metadata.name} has been rolled out.`;
  const columns: Column<SetRevision>[] = [
    { title: 'REVISION', cell: ({ revision }) => revision, gives: 'start' },
    { title: 'STARTED', cell: ({ startedAt }) => ageOf(startedAt, nowMs) },
    { title: 'TOOK', cell: (one) => tookText(one) },
    { title: 'OUTCOME', cell: (one) => outcomeText(one, set) },
    ...(revisions.some(({ signed }) => signed !== undefined)
      ? [
          {
            title: 'SIGNED BY',
            cell: ({ signed }: SetRevision) => signed?.keys.join(', ') ?? '',
            gives: 'end' as const,
          },
        ]
      : []),
    { title: 'CHANGE', cell: ({ summary = '' }) => summary, gives: 'end' },
  ];
  const table = tableLines(columns, revisions, width);
  return [...table, ...(steps.length > 0 ? ['', ...tableLines(stepColumns(nowMs), steps, width)] : [])].join('\n');
}

const stepColumns = (nowMs: number): Column<SetStep>[] => [
  { title: 'AGE', cell: ({ at }) => ageOf(at, nowMs) },
  { title: 'STEP', cell: ({ step }) => step },
  { title: 'REVISION', cell: ({ revision }) => revision, gives: 'start' },
  { title: 'OF', cell: ({ node, wave }) => node ?? (wave === undefined ? '' : `wave ${wave}`) },
  { title: 'BY', cell: (step) => whoText(step) },
  {
    title: 'WHY',
    cell: ({ why, reason, message }) => why ?? [reason, message].filter(Boolean).join(': '),
    gives: 'end',
  },
];

const tookText = ({ startedAt, endedAt }: SetRevision): string =>
  endedAt === undefined ? '' : shortDuration(Date.parse(endedAt) - Date.parse(startedAt));

/** `Superseded, failed on node-1`. A rollout that has stopped and may be retried has no outcome yet: `Halted`, the reason, is shown. */
function outcomeText({ revision, outcome, failedNodes = [] }: SetRevision, set: NodeConfigSet): string {
  const { currentRevision, updateRevision } = set.status ?? {};
  const more = failedNodes.length > 1 ? ` and ${failedNodes.length - 1} more` : '';
  const failed = failedNodes.length > 0 ? `, failed on ${failedNodes[0]}${more}` : '';
  if (outcome !== undefined) return `${outcome}${revision === currentRevision ? ', current' : ''}${failed}`;
  if (revision !== updateRevision) return '';
  const assessment = assess(set);
  return `${assessment.kind === 'stopped' ? assessment.reason : 'rolling out'}${failed}`;
}
