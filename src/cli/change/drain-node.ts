/**
 * Drains a node for the change of one command, by the rules of the controller for sets:
 *
 *   claimed, or a pod blocks ─► nothing is done
 *   cordon with a mark ─► evict until it is empty ─► (the change) ─► uncordon
 *                           └─ out of time, Ctrl-C, or any failure ─► uncordon
 *
 * The mark has no set, so that the controller leaves the node to this command. Cordons of others are never lifted.
 */
import { type DrainMark, drainMarkOf, isCordoned } from '../../api/drain.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import { readClaims } from '../../controller/claim-view.js';
import { apiEvictor } from '../../controller/drain/evictor.js';
import { NodeMarks } from '../../controller/drain/node-marks.js';
import { DrainRights } from '../../controller/drain/rights.js';
import { shortDuration } from '../../go/short-duration.js';
import { podDisruptionBudgets, pods } from '../../kube/resource-type.js';
import { claimantOf } from '../../rollout/drain/maintenance.js';
import { evictNext } from '../../rollout/drain/plan.js';
import {
  type DisruptionBudget,
  type DrainPod,
  isEmptied,
  leftPods,
  type PodAction,
  podActions,
  undrainable,
} from '../../rollout/drain/pods.js';
import { oneLine } from '../../visible-text.js';
import type { Session } from '../session.js';
import type { Progress } from '../terminal/terminal.js';

export type DrainPolicy = 'WhenNeeded' | 'Always' | 'Never';

type Drainer = Pick<Session, 'client' | 'signal'>;

const passMs = 1000;
/** For the request that uncordons, which also Ctrl-C waits for. */
const liftMs = 10_000;
const remedy =
  'Let them go first: more replicas or a lower minAvailable for a budget, deletion of a pod without a controller';

/** Throws before anything is done where this person may not drain, or another system has one of the nodes. */
export async function refuseDrains({ client, signal }: Drainer, names: readonly string[]): Promise<void> {
  if (!(await new DrainRights({ client, signal }).mayDrain()))
    throw new CannotRun(
      'nothing was changed: --drain needs the rights to patch nodes and nodes/status, to list pods and poddisruptionbudgets, and to create pods/eviction, as the role relet:controller-drain has them (docs/drain.md)',
    );
  const claims = await readClaims(client, { signal });
  const marks = new NodeMarks({ client, signal, onWrite: () => {} });
  for (const name of names) {
    const node = await marks.read(name);
    const claimant = (node && claimantOf(node)) ?? claims.of(name);
    if (claimant !== undefined)
      throw new CannotRun(`nothing was changed: another system does maintenance on ${name}: ${oneLine(claimant)}`);
  }
}

export interface DrainedNode {
  /** Takes back what the drain wrote. Called in any case. False: somebody else has cordoned the node, and it stays so. */
  lift(): Promise<boolean>;
}

export async function drainNode(
  session: Drainer,
  name: string,
  { revision, timeoutMs, progress }: { revision: string; timeoutMs: number; progress: Pick<Progress, 'at'> },
): Promise<DrainedNode> {
  const { client, signal } = session;
  const blocked = undrainable(await actionsOn(session, name));
  if (blocked !== undefined)
    throw new CannotRun(`${name} cannot be drained, and was not changed: ${blocked}. ${remedy}`);
  const mark: DrainMark = { set: '', revision, state: 'Draining', at: rfc3339(client.clock.now()) };
  const drained = { lift: () => lift(session, name) };
  try {
    progress.at(name, 'cordoning');
    await cordon(session, name, mark);
    await empty(session, name, { timeoutMs, progress });
    return drained;
  } catch (error) {
    await drained.lift();
    if (signal.aborted) (signal.reason as Error).message += `; ${name} is uncordoned again`;
    throw error;
  }
}

async function cordon({ client, signal }: Drainer, name: string, mark: DrainMark): Promise<void> {
  const marks = new NodeMarks({ client, signal, onWrite: () => {} });
  // Somebody may have written the Node meanwhile: its kubelet does so all the time.
  for (let tries = 0; tries < 5; tries++) {
    await marks.cordon(name, mark, mark);
    const present = await marks.read(name);
    const now = present && drainMarkOf(present);
    if (now?.set === '' && now.state === 'Draining') return;
    if (now?.state === 'Draining')
      throw new CannotRun(
        `${name} was not changed: the set ${oneLine(now.set)} drains it; try again when that is over`,
      );
  }
  throw new CannotRun(`${name} was not changed: its Node is written all the time, so it could not be cordoned`);
}

async function empty(
  session: Drainer,
  name: string,
  { timeoutMs, progress }: { timeoutMs: number; progress: Pick<Progress, 'at'> },
): Promise<void> {
  const { client, signal } = session;
  const evictor = apiEvictor(client);
  const endMs = client.clock.monotonic() + timeoutMs;
  for (;;) {
    const actions = await actionsOn(session, name);
    if (isEmptied(actions)) return;
    const rejected = new Map<string, string>();
    for (const pod of evictNext(actions)) {
      const why = await evictor.evict(pod, signal);
      if (why !== undefined) rejected.set(pod.metadata.uid ?? '', why);
    }
    const left = leftPods(actions, rejected) ?? '';
    progress.at(name, `draining, waits for ${left}`);
    if (client.clock.monotonic() > endMs)
      throw new CannotRun(
        `${name} was not drained within ${shortDuration(timeoutMs)}; it is uncordoned again, and was not changed. Left: ${left}. ${remedy}; or use a longer --drain-timeout`,
      );
    await client.clock.sleep(passMs, signal);
  }
}

async function actionsOn({ client, signal }: Drainer, node: string): Promise<PodAction[]> {
  const [present, budgets] = await Promise.all([
    client.list<DrainPod>(pods, { fieldSelector: `spec.nodeName=${node}`, signal }),
    client.list<DisruptionBudget>(podDisruptionBudgets, { signal }),
  ]);
  return podActions(present.items, budgets.items, { unmanagedPods: 'Block' });
}

/** Also after Ctrl-C, so with a signal of its own. Tries again where somebody writes the Node at the same time. */
async function lift({ client }: Drainer, name: string): Promise<boolean> {
  const marks = new NodeMarks({ client, signal: AbortSignal.timeout(liftMs), onWrite: () => {} });
  try {
    for (;;) {
      const node = await marks.read(name);
      const mark = node && drainMarkOf(node);
      if (mark?.set !== '') return node === undefined || !isCordoned(node);
      await marks.lift(name, mark);
    }
  } catch (error) {
    throw new CannotRun(
      `${name} is still cordoned: ${(error as Error).message}. Uncordon it with: kubectl uncordon ${name} && kubectl annotate node ${name} relet.dev/drain-`,
    );
  }
}
