/** `relet gc`: deletes ConfigMaps of relet that no node uses, falls back to, or could return to. Asks first. */

import type { ConfigMap } from '../../api/object.js';
import { isConflict, isNotFound } from '../../api/status.js';
import { findUses, keyOf, labelledConfigMaps, type Uses } from '../../fleet/config-maps.js';
import { shortDuration } from '../../go/short-duration.js';
import { configMaps } from '../../kube/resource-type.js';
import { byNaturalOrder } from '../../natural-order.js';
import type { ConnectionOptions } from '../command-line.js';
import { type Session, withResultSession } from '../session.js';
import { ageOf } from '../terminal/output.js';
import { confirm } from './change-to.js';

export interface GcOptions extends ConnectionOptions {
  /** Younger ones are left alone: somebody may have pushed one and be about to assign it. */
  minAge: number;
  /** Remove also what only a history names. */
  history?: boolean;
  dryRun?: 'none' | 'client' | 'server';
  yes?: boolean;
  output?: 'json';
}

export const gc = (options: GcOptions): Promise<void> =>
  withResultSession(options, (session) => collectGarbage(session, options));

async function collectGarbage(session: Session, options: GcOptions): Promise<void> {
  const { terminal } = session;
  const decisions = await decide(session, options);
  const unused = decisions.filter(({ why }) => why === 'unused');
  const removed = new Set<Decision>();
  try {
    for (const line of gcLines(decisions, options, Date.now())) terminal.print(line);
    if (unused.length === 0) return;
    if (options.dryRun === 'client') return terminal.print(`${count(unused.length)} would be removed (dry run)`);
    const dryRun = options.dryRun === 'server';
    if (!dryRun && !(await confirm(session, `Remove ${count(unused.length)}?`, options.yes))) {
      process.exitCode = 1;
      return terminal.print('Nothing was removed.');
    }
    // While a person thought about it, somebody may have assigned one.
    const still = new Set((await decide(session, options)).filter(({ why }) => why === 'unused').map(({ key }) => key));
    for (const one of unused) {
      session.signal.throwIfAborted();
      if (!still.has(one.key)) terminal.print(`${one.key} is in use by now, kept`);
      else if (await remove(session, one.configMap, dryRun)) removed.add(one);
    }
    terminal.print(`${count(removed.size)} removed${dryRun ? ' (server dry run)' : ''}`);
  } finally {
    if (options.output === 'json') terminal.printDocument(asJson(decisions, removed, options));
  }
}

async function decide(session: Session, options: GcOptions): Promise<Decision[]> {
  // ConfigMaps first: one that is made in between is not in the list, one that is assigned in between is seen as used.
  const all = await labelledConfigMaps(session, session.scope);
  return decideOn(all, await findUses(session), options, Date.now());
}

export interface Decision {
  /** `namespace/name`. */
  key: string;
  configMap: ConfigMap;
  why: 'unused' | 'in use' | 'of a set' | 'in the history' | 'young';
  /** The nodes that use it, or have it in their history; the sets that name it. */
  nodes: string[];
}

export function decideOn(
  all: ConfigMap[],
  uses: Uses,
  { minAge, history = false }: Pick<GcOptions, 'minAge' | 'history'>,
  nowMs: number,
): Decision[] {
  return all.map((configMap) => {
    const key = keyOf(configMap);
    const [now, sets] = [uses.now.get(key), uses.sets.get(key)];
    const before = history ? undefined : uses.history.get(key);
    // A clock that is behind the server's makes a ConfigMap younger than nothing.
    const isYoung = minAge > 0 && nowMs - Date.parse(configMap.metadata.creationTimestamp ?? '') < minAge;
    const why = now ? 'in use' : sets ? 'of a set' : before ? 'in the history' : isYoung ? 'young' : 'unused';
    return { key, configMap, why, nodes: [...(now ?? sets ?? before ?? [])].sort(byNaturalOrder) };
  });
}

export const unusedOf = (...args: Parameters<typeof decideOn>): ConfigMap[] =>
  decideOn(...args)
    .filter(({ why }) => why === 'unused')
    .map(({ configMap }) => configMap);

/** More are only counted. */
const mostListed = 20;

export function gcLines(decisions: Decision[], { minAge }: Pick<GcOptions, 'minAge'>, nowMs: number): string[] {
  const kept = decisions.filter(({ why }) => why !== 'unused');
  const unused = decisions.filter(({ why }) => why === 'unused');
  const shown = unused.slice(0, mostListed).map(({ key, configMap }) => {
    return `${key}   ${ageOf(configMap.metadata.creationTimestamp, nowMs)} old, unused`;
  });
  if (unused.length > mostListed) shown.push(`… and ${unused.length - mostListed} more, unused`);
  const counted = (why: Decision['why'], words: string) => {
    const n = kept.filter((one) => one.why === why).length;
    return n === 0 ? [] : [`${n} ${words}`];
  };
  const reasons = [
    ...counted('in use', 'in use'),
    ...counted('of a set', 'named by a set'),
    ...counted('in the history', "only in the history of nodes, for 'relet undo' (--history removes these)"),
    ...counted('young', `younger than ${shortDuration(minAge)} (--min-age)`),
  ];
  const single = kept.length <= mostListed ? kept.map((one) => `${one.key}   kept: ${reasonOf(one)}`) : [];
  if (kept.length > 0) shown.push(...single, `Kept: ${reasons.join('; ')}.`);
  if (unused.length === 0) shown.push('Nothing to remove.');
  return shown;
}

function reasonOf({ why, nodes }: Decision): string {
  const who = nodes.length <= 3 ? nodes.join(', ') : `${nodes.length} nodes`;
  if (why === 'young') return 'younger than --min-age';
  if (why === 'of a set') return `named by the set ${who}`;
  return why === 'in use' ? `in use by ${who}` : `in the history of ${who}`;
}

function asJson(decisions: Decision[], removed: ReadonlySet<Decision>, { dryRun = 'none' }: GcOptions): string {
  const configMaps = decisions.map((one) => ({
    configMap: one.key,
    reason: { unused: 'Unused', 'in use': 'InUse', 'of a set': 'OfSet', 'in the history': 'InHistory', young: 'Young' }[
      one.why
    ],
    [one.why === 'of a set' ? 'sets' : 'nodes']: one.nodes,
    removed: removed.has(one),
  }));
  return JSON.stringify(
    { apiVersion: 'cli.relet.dev/v1', kind: 'GcResult', dryRun: dryRun !== 'none', configMaps },
    null,
    2,
  );
}

async function remove({ client, terminal }: Session, { metadata }: ConfigMap, dryRun: boolean): Promise<boolean> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  try {
    await client.delete(configMaps, { namespace, name }, { dryRun, preconditions: { uid, resourceVersion } });
    return true;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    terminal.print(`${namespace}/${name} was changed or removed meanwhile, left alone`);
    return false;
  }
}

const count = (n: number): string => `${n} ConfigMap${n === 1 ? '' : 's'}`;
