/** `relet history NODE`: who changed the node's reference, when, to what and why. */

import { formatRef, parseRef, refOf } from '../../api/config-ref.js';
import { type HistoryEntry, readHistory } from '../../fleet/config-history.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';
import { ageOf, type Column, tableLines } from '../terminal/output.js';

export interface HistoryOptions extends ConnectionOptions {
  output: 'text' | 'json';
}

export const history = (name: string, options: HistoryOptions): Promise<void> =>
  withSession(options, async ({ references, terminal, signal }) => {
    const node = await references.get(nodeName(name), { signal });
    const entries = readHistory(node.history);
    if (options.output === 'json') return terminal.print(JSON.stringify(entries, null, 2));
    const now = formatRef(refOf(node.configSource), 'short');
    if (entries.length === 0) {
      const hint = now === 'local' ? 'it is on its local config' : `it was assigned ${now} without relet`;
      return terminal.print(`No change of ${node.name} is recorded; ${hint}.`);
    }
    const short = shortSources(entries);
    const all = columns(Date.now(), short);
    const shown = entries.some(({ failed }) => failed !== undefined) ? [...all, failedColumn] : all;
    terminal.print(tableLines(shown, entries, terminal.width).join('\n'));
    if (entries[0]!.to !== now)
      terminal.print(`\n${node.name} was changed without relet since: it is now assigned ${now}.`);
  });

/** Namespace and key only where they differ from one config to another. */
export function shortSources(entries: readonly HistoryEntry[]): (text: string) => string {
  const sources = entries.flatMap(({ from, to }) => [from, to]).map(parseRef);
  const differ = (part: 'namespace' | 'kubeletConfigKey') =>
    new Set(sources.flatMap((source) => source?.[part] ?? [])).size > 1;
  const [withNamespace, withKey] = [differ('namespace'), differ('kubeletConfigKey')];
  return (text) => {
    const source = parseRef(text);
    if (source === undefined) return text;
    return `${withNamespace ? `${source.namespace}/` : ''}${source.name}${withKey ? `/${source.kubeletConfigKey}` : ''}`;
  };
}

const columns = (nowMs: number, short: (source: string) => string): Column<HistoryEntry>[] => [
  { title: 'REV', cell: ({ revision }) => String(revision) },
  { title: 'AGE', cell: ({ at }) => ageOf(at, nowMs) },
  { title: 'BY', cell: ({ by }) => by, gives: 'end' },
  { title: 'VERB', cell: ({ verb }) => verb },
  { title: 'FROM', cell: ({ from }) => short(from), gives: 'start' },
  { title: 'TO', cell: ({ to }) => short(to), gives: 'start' },
  { title: 'WHY', cell: ({ why = '' }) => why, gives: 'end' },
];

/** Known of a config only when another one has replaced it. */
const failedColumn: Column<HistoryEntry> = {
  title: 'FAILED',
  cell: ({ failed = '' }) => failed.split(':', 1)[0] ?? '',
};
