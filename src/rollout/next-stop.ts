/**
 * Computes what follows an approval: the waves that roll out without another approval, their number of nodes, and where the rollout
 * stops next. A wave without nodes is not a stop. Pure.
 */
import {
  isEmptyWave,
  type NodeConfigSet,
  ownNodes,
  strategyDefaults,
  type Wave,
  type WaveStatus,
} from '../api/node-config-set.js';
import { shortDuration } from '../go/short-duration.js';
import { soakMs } from './estimate.js';

export interface NextStop {
  /** Those with nodes to change, in order. `soakMs`: after it, before the next one. */
  waves: { wave: number; nodes: number; soakMs: number }[];
  /** Those without nodes that are passed. */
  skipped: number[];
  /** The next wave that waits for approval; undefined: the rollout runs to its end. */
  waitsAfter: number | undefined;
}

/** `approved`: all waves up to this one are. `waves`: as the status has them, unless somebody knows better. */
export function untilNextStop(
  { spec: { strategy }, status = {} }: Pick<NodeConfigSet, 'spec' | 'status'>,
  approved: number,
  waves: readonly WaveStatus[] = status.waves ?? [],
): NextStop {
  const rules: readonly Wave[] = strategy?.waves ?? strategyDefaults.waves;
  const next: NextStop = { waves: [], skipped: [], waitsAfter: undefined };
  for (const [at, { wave, assigned, state }] of waves.entries()) {
    if (state === 'Done') continue;
    const { soak, approve = false } = rules[at] ?? { nodes: 0 };
    const isLast = at === waves.length - 1;
    if (isEmptyWave(waves, at)) next.skipped.push(wave);
    else {
      const nodes = Math.max(0, ownNodes(waves, at) - assigned);
      if (nodes > 0) next.waves.push({ wave, nodes, soakMs: isLast ? 0 : soakMs(soak) });
      if (approve && wave > approved && !isLast) return { ...next, waitsAfter: wave };
    }
  }
  return next;
}

export const nodesUntil = ({ waves }: NextStop): number => waves.reduce((sum, { nodes }) => sum + nodes, 0);

/** `9 nodes change in wave 3, and the rollout is complete. Wave 2 has no nodes and is skipped.` */
export function nextStopText(next: NextStop): string {
  const count = nodesUntil(next);
  const end =
    next.waitsAfter === undefined
      ? 'Then the rollout is complete.'
      : `Then it waits for the approval of wave ${next.waitsAfter}.`;
  const skipped = next.skipped.map((wave) => ` Wave ${wave} has no nodes and is skipped.`).join('');
  return `${count === 0 ? 'No node is left to change' : `${nodesText(count)} will change ${placeText(next)}`}. ${end}${skipped}`;
}

function placeText({ waves }: NextStop): string {
  if (waves.length === 1) return `in wave ${waves[0]!.wave}`;
  const parts = waves.map(({ wave, nodes, soakMs: ms }, at) => {
    const soaks = ms > 0 && at < waves.length - 1 ? `, then a soak of ${shortDuration(ms)}` : '';
    return `${nodesText(nodes)} in wave ${wave}${soaks}`;
  });
  return `without another approval: ${parts.join('; ')}`;
}

const nodesText = (count: number): string => `${count} ${count === 1 ? 'node' : 'nodes'}`;
