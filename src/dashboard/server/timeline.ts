/** Merges the histories of all nodes into one timeline: one entry for what one author did to many nodes. Pure. */
import { parseRef } from '../../api/config-ref.js';
import { hasFailed } from '../../fleet/config-history.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { entryBy, historyOf, type ShownEntry } from '../../fleet/node-history.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { Timeline, TimelineChange } from '../wire.js';
import { timeOf } from './row.js';

/** Changes that are alike and not further apart belong together: the batches of a wave. */
const apartMs = 10 * 60_000;
const mostChanges = 500;
const mostNames = 10;

interface Entry extends Omit<TimelineChange, 'nodes' | 'names' | 'failed'> {
  name: string;
  hasFailed: boolean;
}

export function timelineOf(nodes: Iterable<ConfiguredNode>, { from, to }: { from: number; to: number }): Timeline {
  const clean = cleaner();
  const entries: Entry[] = [];
  for (const node of nodes)
    if (newestAt(node) >= from)
      for (const entry of historyOf(node)) {
        const at = timeOf(entry.at);
        if (at >= from && at <= to) entries.push(entryOf(node.name, entry, at, clean));
      }
  entries.sort((a, b) => a.at - b.at);
  const open = new Map<string, TimelineChange>();
  const changes: TimelineChange[] = [];
  for (const { name, hasFailed, ...entry } of entries) {
    // Within a line each: nothing in them can be a line break.
    const key = [entry.by, entry.verb, entry.why, entry.from, entry.to].join('\n');
    let change = open.get(key);
    if (change === undefined || entry.at - change.at > apartMs) {
      change = { ...entry, nodes: 0, names: [], failed: 0 };
      open.set(key, change);
      changes.push(change);
    }
    change.at = entry.at;
    change.nodes++;
    if (change.names.length < mostNames) change.names.push(name);
    if (hasFailed) change.failed++;
  }
  changes.sort((a, b) => b.at - a.at);
  return { from, to, changes: changes.slice(0, mostChanges) };
}

/** Without parsing the history, which has its newest entry first: most nodes of a large fleet have not changed lately. */
function newestAt({ history = '' }: ConfiguredNode): number {
  return timeOf(/"at":\s*"([^"\\]*)"/.exec(history)?.[1]);
}

type Clean = (text: string, length?: number) => string;

/** Thousands of nodes have the same few texts. */
function cleaner(): Clean {
  const known = new Map<string, string>();
  return (text, length = 300) => {
    const key = `${length} ${text}`;
    const found = known.get(key) ?? shorten(oneLine(text), length);
    known.set(key, found);
    return found;
  };
}

function entryOf(name: string, entry: ShownEntry, at: number, clean: Clean): Entry {
  const { by, verb, why, from, to, result } = entry;
  const short = (source: string) => clean(parseRef(source)?.name ?? source);
  const set = /^set\/(.+)$/.exec(by)?.[1];
  return {
    at,
    by: clean(entryBy(entry)),
    verb: clean(verb, 50),
    ...(why !== undefined && { why: clean(why) }),
    from: short(from),
    to: short(to),
    ...(set !== undefined && { set: clean(set) }),
    name,
    hasFailed: result !== undefined && hasFailed(result),
  };
}
