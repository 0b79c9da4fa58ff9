/** The changes of the fleet over time, from the histories of its nodes: one entry for what one party did to many nodes. Pure. */
import { parseRef } from '../../api/config-ref.js';
import { readHistory } from '../../fleet/config-history.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { Change, Timeline } from '../wire.js';
import { timeOf } from './row.js';

/** Changes that are alike and not further apart belong together: the batches of a wave. */
const apartMs = 10 * 60_000;
const mostChanges = 500;
const mostNames = 10;

interface Entry extends Omit<Change, 'nodes' | 'names' | 'failed'> {
  name: string;
  hasFailed: boolean;
}

export function timelineOf(nodes: Iterable<ConfiguredNode>, { from, to }: { from: number; to: number }): Timeline {
  const entries = [...nodes].flatMap((node) => entriesOf(node)).filter(({ at }) => at >= from && at <= to);
  entries.sort((a, b) => a.at - b.at);
  const open = new Map<string, Change>();
  const changes: Change[] = [];
  for (const { name, hasFailed, ...entry } of entries) {
    const key = JSON.stringify([entry.by, entry.verb, entry.why, entry.from, entry.to]);
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

function entriesOf({ name, history }: ConfiguredNode): Entry[] {
  const short = (source: string) => shorten(oneLine(parseRef(source)?.name ?? source), 300);
  return readHistory(history).map(({ at, by, verb, why, from, to, failed }) => {
    const set = /^set\/(.+)$/.exec(by)?.[1];
    return {
      at: timeOf(at),
      by: shorten(oneLine(by), 300),
      verb: shorten(oneLine(verb), 50),
      ...(why !== undefined && { why: shorten(oneLine(why), 300) }),
      from: short(from),
      to: short(to),
      ...(set !== undefined && { set: shorten(oneLine(set), 300) }),
      name,
      hasFailed: failed !== undefined,
    };
  });
}
