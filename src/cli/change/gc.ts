/** `relet gc`: removes ConfigMaps of relet's that no node uses, falls back to, or could go back to. Asks first. */
import { isConflict, isNotFound } from '../../kube/api-error.js';
import { configMaps } from '../../kube/resource-type.js';
import { ageOf } from '../age.js';
import type { ConfigMap } from '../config-maps.js';
import type { ConnectionOptions } from '../connection-flags.js';
import { type Session, withSession } from '../session.js';
import { findUses, keyOf, labelledConfigMaps, type Uses } from '../used-config-maps.js';
import { confirm } from './confirm.js';

export interface GcOptions extends ConnectionOptions {
  /** Younger ones are left alone: somebody may have pushed one and be about to assign it. */
  minAge: number;
  /** Remove also what only a history names. */
  history?: boolean;
  dryRun?: 'none' | 'client' | 'server';
  yes?: boolean;
}

export const gc = (options: GcOptions): Promise<void> =>
  withSession(options, async (session) => {
    const { terminal } = session;
    const unused = await findUnused(session, options);
    if (unused.length === 0) return terminal.print('Every ConfigMap that relet made is in use, or too young to tell.');
    const nowMs = Date.now();
    for (const one of unused) terminal.print(`${keyOf(one)}   ${ageOf(one.metadata.creationTimestamp, nowMs)} old`);
    if (options.dryRun === 'client') return terminal.print(`${count(unused.length)} would be removed (dry run)`);
    const dryRun = options.dryRun === 'server';
    if (!dryRun && !(await confirm(session, `Remove ${count(unused.length)}?`, options.yes))) {
      process.exitCode = 1;
      return terminal.print('Nothing was removed.');
    }
    // While a person thought about it, somebody may have assigned one.
    const still = new Set((await findUnused(session, options)).map(keyOf));
    let removed = 0;
    for (const one of unused) {
      session.signal.throwIfAborted();
      if (!still.has(keyOf(one))) terminal.print(`${keyOf(one)} is in use by now, kept`);
      else if (await remove(session, one, dryRun)) removed++;
    }
    terminal.print(`${count(removed)} removed${dryRun ? ' (server dry run)' : ''}`);
  });

async function findUnused(session: Session, options: GcOptions): Promise<ConfigMap[]> {
  // ConfigMaps first: one that is made in between is not in the list, one that is assigned in between is seen as used.
  const all = await labelledConfigMaps(session);
  return unusedOf(all, await findUses(session), options, Date.now());
}

export function unusedOf(
  all: ConfigMap[],
  uses: Uses,
  { minAge, history = false }: Pick<GcOptions, 'minAge' | 'history'>,
  nowMs: number,
): ConfigMap[] {
  return all.filter((one) => {
    const isOld = nowMs - Date.parse(one.metadata.creationTimestamp ?? '') >= minAge;
    const isKept = uses.now.has(keyOf(one)) || (!history && uses.history.has(keyOf(one)));
    return isOld && !isKept;
  });
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
