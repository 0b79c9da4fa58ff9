/**
 * `relet rollout approve`, `abort`, `retry` and `undo`: what a person asks of a rollout. It is written through the status subresource,
 * so that the spec stays what is in Git, and a role can allow just this. The controller does it, and removes the request.
 */
import { type NodeConfigSet, nodeConfigSets, type RolloutAction, type WaveStatus } from '../../api/node-config-set.js';
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../time.js';
import { confirm } from '../change/change-to.js';
import type { ConnectionOptions } from '../command-line.js';
import { type Session, withSession } from '../session.js';
import { hanging, terminalFor } from '../terminal/terminal.js';
import { whoAmI } from '../who-am-i.js';
import { readSet, setName } from './read-set.js';
import { printResult, type RolloutResult } from './result.js';

export interface RequestOptions extends ConnectionOptions {
  yes?: boolean;
  why?: string;
  output?: 'json';
}

export interface ApproveOptions extends RequestOptions {
  wave?: number;
  revision?: string;
  /** All waves. */
  full?: boolean;
}

export const approve = (word: string, options: ApproveOptions): Promise<void> =>
  inSession(word, options, async (session, set) => {
    const { name } = set.metadata;
    const { revision, wave, isApproved } = approvalFor(set, options);
    if (isApproved)
      return finish(session, options, { set: name, verb: 'approve', revision, wave, done: 'is approved already' });
    if (!(await confirm(session, `Approve wave ${wave} of ${name}, revision ${revision}?`, options.yes)))
      return declined(session);
    const by = await whoAmI(session);
    const approval = { revision, wave, by, at: rfc3339(Date.now()) };
    await patchRollout(session, name, { approve: approval });
    finish(session, options, { set: name, verb: 'approve', revision, wave, done: 'is approved' });
  });

/** Which wave of which revision. Throws where there is nothing to approve, or it is not what the person looked at. */
export function approvalFor(
  { metadata: { name }, status = {} }: NodeConfigSet,
  { wave, revision, full }: Pick<ApproveOptions, 'wave' | 'revision' | 'full'>,
): { revision: string; wave: number; isApproved: boolean } {
  const { updateRevision, waves = [], rollout } = status;
  if (updateRevision === undefined)
    throw new CannotRun(`${name} has not started to roll out; there is nothing to approve`);
  if (revision !== undefined && revision !== updateRevision)
    throw new CannotRun(
      `${name} rolls out revision ${updateRevision}, not ${revision}; look at it with 'relet rollout status ${name}' before you approve it`,
    );
  const asked = full ? waves.at(-1)?.wave : (wave ?? waves.find(isWaiting)?.wave);
  if (asked === undefined)
    throw new CannotRun(`no wave of ${name} waits for approval; --wave N approves one beforehand`);
  if (waves.length > 0 && asked > waves.length)
    throw new CannotRun(`${name} has ${waves.length} waves; there is no wave ${asked}`);
  const approved = rollout?.approve?.revision === updateRevision ? rollout.approve.wave : 0;
  return { revision: updateRevision, wave: Math.max(asked, approved), isApproved: approved >= asked };
}

const isWaiting = ({ state }: WaveStatus): boolean => state === 'AwaitingApproval';

export const abort = (word: string, options: RequestOptions): Promise<void> => request(word, 'Abort', options);
export const retry = (word: string, options: RequestOptions): Promise<void> => request(word, 'Retry', options);
export const undo = (word: string, options: RequestOptions): Promise<void> => request(word, 'Undo', options);

const questions: Partial<Record<RolloutAction, (revision: string) => string>> = {
  Retry: (revision) => `Roll revision ${revision} out again, also to the nodes on which it failed?`,
  Undo: (revision) => `Take revision ${revision} back from all nodes that have it?`,
};

/** What happens next. An abort is not asked about: who wants to stop wants it now. */
const results: Record<RolloutAction, string> = {
  Abort: 'is being aborted: no further node is changed, and nodes keep what they have',
  Retry: 'is being rolled out again',
  Undo: 'is being undone: its nodes go back to what they had, within maxUnavailable',
};

const request = (word: string, action: RolloutAction, options: RequestOptions): Promise<void> =>
  inSession(word, options, async (session, set) => {
    const { name } = set.metadata;
    const revision = requestedRevision(set, action);
    const question = questions[action]?.(revision);
    if (question !== undefined && !(await confirm(session, `${name}: ${question}`, options.yes)))
      return declined(session);
    const by = await whoAmI(session);
    const asked = { action, revision, by, why: options.why ?? null, at: rfc3339(Date.now()) };
    await patchRollout(session, name, { request: asked });
    finish(session, options, { set: name, verb: action.toLowerCase(), revision, done: results[action] });
  });

/** Throws where the request would do nothing. */
export function requestedRevision({ metadata: { name }, status = {} }: NodeConfigSet, action: RolloutAction): string {
  const { updateRevision, rejectedRevision, currentRevision, failedNodes = 0 } = status;
  const { updatedNodes = 0, inTrialNodes = 0, pendingNodes = 0, rollingBack = false } = status;
  if (updateRevision === undefined)
    throw new CannotRun(`${name} has not started to roll out; there is nothing to ${action.toLowerCase()}`);
  const isRejected = rejectedRevision === updateRevision;
  if (action === 'Retry' && !isRejected && failedNodes === 0)
    throw new CannotRun(
      `no node of ${name} has failed, and its revision was not aborted or undone; there is nothing to retry`,
    );
  if (action === 'Abort' && isRejected)
    throw new CannotRun(`revision ${updateRevision} of ${name} is stopped already; see 'relet rollout status ${name}'`);
  if (action === 'Abort' && currentRevision === updateRevision)
    throw new CannotRun(
      `revision ${updateRevision} of ${name} is complete; 'relet rollout undo ${name}' takes it back from all nodes`,
    );
  // A node that was held when the others went back still has it, and counts.
  const isNowhere = updatedNodes + inTrialNodes + pendingNodes + failedNodes === 0;
  if (action === 'Undo' && isRejected && isNowhere && !rollingBack)
    throw new CannotRun(`no node has revision ${updateRevision} of ${name} any more; there is nothing to undo`);
  return updateRevision;
}

/** A merge: null removes a field of an earlier request. */
const patchRollout = (
  { client }: Session,
  name: string,
  rollout: { approve: object } | { request: object },
): Promise<unknown> =>
  client.patch(
    nodeConfigSets,
    { name, subresource: 'status' },
    { status: { rollout } },
    { as: 'merge', fieldManager: 'relet' },
  );

function declined({ terminal }: Session): void {
  terminal.print('Nothing was changed.');
  process.exitCode = 1;
}

interface Result extends RolloutResult {
  revision: string;
  /** The rest of a sentence about the revision. */
  done: string;
}

function finish({ terminal }: Session, options: RequestOptions, { done, ...result }: Result): void {
  const { set, wave, revision } = result;
  const what = wave === undefined ? `revision ${revision}` : `wave ${wave} of revision ${revision}`;
  terminal.print(hanging(`${set}: ${what} ${done}; 'relet rollout status ${set} -w' follows it`, terminal));
  printResult(terminal, options, result);
}

const inSession = (
  word: string,
  options: RequestOptions,
  work: (session: Session, set: NodeConfigSet) => Promise<void>,
): Promise<void> =>
  withSession(options, async (session) => work(session, await readSet(session, setName(word))), terminalFor(options));
