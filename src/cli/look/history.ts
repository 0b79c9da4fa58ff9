/** `relet history NODE`: who changed the node's reference, when, to what and why. */
import { type HistoryEntry, readHistory, sourceText } from '../../api/config-history.js';
import { sourceName } from '../../api/config-state.js';
import { ageOf } from '../age.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { nodeName } from '../select-nodes.js';
import { withSession } from '../session.js';
import { type Column, tableLines } from '../table.js';

export interface HistoryOptions extends ConnectionOptions {
  output: 'text' | 'json';
}

export const history = (name: string, options: HistoryOptions): Promise<void> =>
  withSession(options, async ({ references, terminal, signal }) => {
    const node = await references.get(nodeName(name), { signal });
    const entries = readHistory(node.history);
    if (options.output === 'json') return terminal.print(JSON.stringify(entries, null, 2));
    const now = sourceText(sourceName(node.configSource));
    if (entries.length === 0) {
      const hint = now === 'local' ? 'it is on its local config' : `it was assigned ${now} without relet`;
      return terminal.print(`No change of ${node.name} is recorded; ${hint}.`);
    }
    const rows = entries.map((entry, at) => ({ ...entry, number: at + 1 }));
    terminal.print(tableLines(columns(Date.now()), rows, terminal.width).join('\n'));
    if (entries[0]!.to !== now)
      terminal.print(`\n${node.name} was changed without relet since: it is now assigned ${now}.`);
  });

type Row = HistoryEntry & { number: number };

const columns = (nowMs: number): Column<Row>[] => [
  { title: '#', cell: ({ number }) => String(number) },
  { title: 'AGE', cell: ({ at }) => ageOf(at, nowMs) },
  { title: 'BY', cell: ({ by }) => by, gives: 'end' },
  { title: 'VERB', cell: ({ verb }) => verb },
  { title: 'FROM', cell: ({ from }) => from, gives: 'middle' },
  { title: 'TO', cell: ({ to }) => to, gives: 'middle' },
  { title: 'WHY', cell: ({ why = '' }) => why, gives: 'end' },
];
