/** `relet history NODE`: the changes of a node's reference with author, time, reason and result; and its holds and releases. */

import { formatRef, parseRef, refOf } from '../../api/config-ref.js';
import { type HistoryEntry, newestChange } from '../../fleet/config-history.js';
import { entryBy, historyOf, resultSummary, type ShownEntry } from '../../fleet/node-history.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';
import { ageOf, type Column, tableLines } from '../terminal/output.js';

export interface HistoryOptions extends ConnectionOptions {
  output: 'text' | 'json';
}

export const history = (name: string, options: HistoryOptions): Promise<void> =>
  withSession(options, async ({ references, terminal, signal }) => {
    const node = await references.get(nodeName(name), { signal });
    const entries = historyOf(node);
    if (options.output === 'json') return terminal.print(JSON.stringify(entries, null, 2));
    const now = formatRef(refOf(node.configSource), 'short');
    if (entries.length === 0) {
      const hint = now === 'local' ? 'it is on its local config' : `it was assigned ${now} without relet`;
      return terminal.print(`No change of ${node.name} is recorded; ${hint}.`);
    }
    const short = shortSources(entries);
    terminal.print(tableLines(columns(Date.now(), short), entries, terminal.width).join('\n'));
    const signed = entries.find(({ signers }) => signers !== undefined);
    if (signed)
      terminal.print(`\nREV ${signed.revision}, which runs, is signed by ${oneLine(signed.signers!.join(', '))}.`);
    if (newestChange(entries)?.to !== now)
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

export const columns = (nowMs: number, short: (source: string) => string): Column<ShownEntry>[] => [
  { title: 'REV', cell: ({ revision }) => String(revision) },
  { title: 'AGE', cell: ({ at }) => ageOf(at, nowMs) },
  { title: 'BY', cell: entryBy, gives: 'end' },
  { title: 'VERB', cell: ({ verb }) => verb },
  // The row below has it too, unless somebody changed the reference without relet.
  { title: 'FROM', cell: ({ from }) => short(from), gives: 'start', optional: true },
  { title: 'TO', cell: ({ to }) => short(to), gives: 'start' },
  { title: 'RESULT', cell: resultSummary, brief: ({ result }) => result?.outcome, gives: 'end', least: 11 },
  { title: 'WHY', cell: ({ why = '' }) => why, gives: 'end' },
];
