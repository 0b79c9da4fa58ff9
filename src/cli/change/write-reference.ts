/**
 * Writes the reference of one node. A command may run for long, so the node is read again right before the write: it is skipped if it
 * was assigned another config meanwhile, is held, or was claimed by a set.
 */
import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import { addOwed, type Owed } from '../../api/node-annotations.js';
import { ApiError, InvalidResponseError, isConflict } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import { withEntry } from '../../fleet/config-history.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { reportedResult } from '../../fleet/node-history.js';
import { heldText, holdText, releaseHint } from '../../fleet/state-text.js';
import { TimeoutError } from '../../kube/requester.js';
import { ConnectionError } from '../../kube/transport.js';
import { oneLine } from '../../visible-text.js';
import type { Session } from '../session.js';
import type { NodeChange } from './outcome.js';

export interface Entry {
  by: string;
  verb: string;
  why?: string | undefined;
}

export interface Respected {
  wait: boolean;
  /** Change nodes although a set has them. */
  takeFromSet?: boolean;
}

/** The server may have written the reference, or not. */
export class AssignmentUnknown extends CannotRun {}

/**
 * Writes the reference and the history in one request, and returns the node as written. After other writes to the same object
 * (heartbeats, labels) it tries again.
 */
export async function writeReference(
  session: Session,
  change: NodeChange,
  { by, verb, why, ...respected }: Entry & Respected,
  { dryRun = false } = {},
): Promise<ConfiguredNode> {
  const { node, to, owed, detach } = change;
  const target = formatRef(refOf(to), 'short');
  for (let tries = 0; ; tries++) {
    const present = dryRun && tries === 0 ? node : await readChangeable(session, change, respected);
    const entry = { at: rfc3339(Date.now()), by, verb, ...(why && { why }) };
    const places = { from: formatRef(refOf(node.configSource), 'short'), to: target };
    const history = withEntry(present, { ...entry, ...places }, reportedResult(present));
    try {
      const left = addOwed(present.owed, owed && { ...owed, at: entry.at });
      const asked = { owed: withoutLeft(left), detach: detach && entry.at };
      return await session.references.assign(present, to, { history, by, ...asked, dryRun });
    } catch (error) {
      if (!dryRun && isEffectUnknown(error))
        throw new AssignmentUnknown(
          `it is not known whether ${node.name} was assigned ${target}: the API server did not confirm it (${oneLine(error.message)}); 'relet get ${node.name}' shows it`,
          { cause: error },
        );
      if (!isConflict(error) || tries >= 10) throw error;
    }
  }
}

/** The node as it is now. Throws if it must not be changed any more. */
export async function readChangeable(
  { references }: Session,
  { node: { name, configSource } }: NodeChange,
  { wait, takeFromSet = false }: Respected,
): Promise<ConfiguredNode> {
  const present = await references.get(name);
  const assigned = refOf(present.configSource);
  if (!sameConfig(refOf(configSource), assigned, 'name'))
    throw new CannotRun(
      `${name} was changed by somebody else meanwhile: it is now assigned ${formatRef(assigned, 'short')}; look at it ('relet history ${name}') and try again`,
    );
  refuseHeld(present, { wait, unchanged: 'it was not changed' });
  const membership = membershipOf(present);
  if (membership !== undefined && !membership.isTaken && !takeFromSet)
    throw new CannotRun(
      `${name} belongs to the set ${membership.claim.set} by now; it was not changed. Change the set instead, or change the node alone with --take-from-set`,
    );
  return present;
}

/** `unchanged`: what was not changed because of it. */
export function refuseHeld(
  { name, held, hold }: ConfiguredNode,
  { wait, unchanged }: Pick<Respected, 'wait'> & { unchanged: string },
): void {
  // With --no-wait the reference is only written, and the node uses it when it is released.
  if (held !== undefined && wait)
    throw new CannotRun(
      `${name} is ${heldText(held)}; it follows no new assignment, so ${unchanged}. To continue, ${releaseHint}, or use --no-wait to assign the config now and have the node use it when it is released`,
    );
  if (hold !== undefined)
    throw new CannotRun(`${name} is ${holdText(hold)}; ${unchanged}. 'relet release ${name}' releases it`);
}

/** Without an answer, or with one that the server or a proxy gave because it could not finish. */
const isEffectUnknown = (error: unknown): error is Error =>
  error instanceof ConnectionError ||
  error instanceof TimeoutError ||
  error instanceof InvalidResponseError ||
  (error instanceof ApiError && error.code >= 500);

/** Without `left`: the node computes which action comes first. */
const withoutLeft = (owed: Owed | undefined): Owed | undefined =>
  owed && { needs: owed.needs, fields: owed.fields, at: owed.at, ...(owed.drained && { drained: true }) };
