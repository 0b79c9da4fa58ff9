/** `relet doctor [NODE]`: checks for common problems, and prints the remedy for each. Changes nothing. */

import { isForbidden } from '../../api/status.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { type Session, selectNodes, withSession } from '../session.js';
import { type Terminal, wrap } from '../terminal/terminal.js';
import { checkCaller, checkClock, checkServer } from './cluster.js';
import { checkConfigMaps, checkUnused } from './configmaps.js';
import type { Diagnosis } from './diagnosis.js';
import {
  checkAgents,
  checkBoots,
  checkNodeAccess,
  checkNodeClocks,
  checkNodeConfigs,
  checkPinned,
  checkStates,
  checkUnits,
  checkUpgrades,
  checkWarnings,
} from './nodes.js';
import { checkSets } from './sets.js';
import { checkSigning } from './signing.js';

export interface DoctorOptions extends ConnectionOptions {
  output: 'text' | 'json';
}

export const doctor = (name: string | undefined, options: DoctorOptions): Promise<void> =>
  withSession(options, async (session) => {
    const found: Diagnosis[] = [];
    const report = (more: Diagnosis[]) => {
      found.push(...more);
      if (options.output === 'text')
        for (const one of byRemedy(more)) session.terminal.print(asText(one, session.terminal));
    };
    for await (const more of diagnose(session, name)) report(more);
    if (options.output === 'json') session.terminal.print(JSON.stringify(found, null, 2));
    else session.terminal.print(`\n${summary(found)}`);
    process.exitCode = exitCodeOf(found);
  });

/** 2 when something could not be checked: that nothing was found is then no good news. */
export function exitCodeOf(found: readonly Diagnosis[]): number {
  const has = (level: Diagnosis['level']) => found.some((one) => one.level === level);
  return has('error') ? 1 : has('unknown') ? 2 : 0;
}

/** Groups findings with the same remedy; only the last of a group keeps it. */
export function byRemedy(found: readonly Diagnosis[]): Diagnosis[] {
  const remedies = [...new Set(found.map(({ remedy }) => remedy))];
  return remedies.flatMap((remedy) => {
    const alike = found.filter((one) => one.remedy === remedy);
    return alike.map(({ level, what }, index) => ({
      level,
      what,
      ...(remedy !== undefined && index === alike.length - 1 && { remedy }),
    }));
  });
}

async function* diagnose(session: Session, name: string | undefined): AsyncGenerator<Diagnosis[]> {
  yield await tried('the server', () => checkServer(session));
  yield await tried('the clock', () => checkClock(session));
  yield await tried('your permissions', () => checkCaller(session));
  const nodes: ConfiguredNode[] = [];
  yield await tried('the nodes', async () => {
    nodes.push(...(await selectNodes(session, name === undefined ? { names: [], all: true } : { names: [name] })));
    const made = session.references.kind === 'NodeConfig' ? checkNodeConfigs(nodes) : [];
    const nowMs = Date.now();
    const states = [...checkAgents(nodes, nowMs), ...checkStates(nodes, nowMs)];
    const found = [...states, ...checkUnits(nodes), ...checkUpgrades(nodes), ...checkBoots(nodes)];
    return [...made, ...found, ...checkWarnings(nodes), ...checkSigning(nodes, nowMs)];
  });
  if (name === undefined) yield await tried('the sets', () => checkSets(session));
  if (nodes.length === 0) return;
  yield await tried('the assigned ConfigMaps', () => checkConfigMaps(session, nodes));
  yield await tried('what nodes may read', () => checkNodeAccess(session, nodes));
  yield await tried('fields pinned by flags', () => checkPinned(session, nodes));
  yield await tried('the clocks of nodes', () => checkNodeClocks(session, nodes));
  if (name === undefined) yield await tried('unused ConfigMaps', () => checkUnused(session));
}

/** A check that is forbidden is reported as unknown, and the others continue. */
async function tried(what: string, check: () => Promise<Diagnosis[]>): Promise<Diagnosis[]> {
  try {
    return await check();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return [{ level: 'unknown', what: `${what}: ${(error as Error).message}` }];
  }
}

function asText({ level, what, remedy }: Diagnosis, { columns, paint }: Terminal): string {
  const marks = {
    ok: paint.green('ok'),
    warning: paint.yellow('warning'),
    error: paint.red('error'),
    unknown: paint.dim('unknown'),
  };
  const gap = ' '.repeat(9 - level.length);
  const text = wrap(oneLine(what), columns, ' '.repeat(9)).trimStart();
  return `${marks[level]}${gap}${text}${remedy === undefined ? '' : `\n${wrap(oneLine(`-> ${remedy}`), columns, ' '.repeat(9))}`}`;
}

function summary(found: Diagnosis[]): string {
  const count = (level: Diagnosis['level']) => found.filter((one) => one.level === level).length;
  const counted = (level: Diagnosis['level'], word: string) =>
    count(level) === 0 ? [] : [`${count(level)} ${word}${count(level) === 1 ? '' : 's'}`];
  const unknown = count('unknown') === 0 ? '' : `${count('unknown')} could not be checked`;
  const wrong = [...counted('error', 'error'), ...counted('warning', 'warning')];
  if (wrong.length > 0) return `${[...wrong, ...(unknown ? [unknown] : [])].join(', ')}.`;
  return unknown === '' ? 'All is well.' : `Nothing wrong was found, but ${unknown}.`;
}
