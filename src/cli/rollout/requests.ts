/**
 * `relet rollout approve`, `abort`, `retry` and `undo`: write the request of a person to the status subresource of the set, so that the
 * spec stays as it is in Git, and a role can allow just this. The controller executes the request and removes it.
 */

import {
  type NodeConfigSet,
  type NodeConfigSetStatus,
  nodeConfigSets,
  type RolloutAction,
} from '../../api/node-config-set.js';
import { rfc3339 } from '../../clock.js';
import { quotedWhy, whoText } from '../../fleet/node-history.js';
import { nodesWithUpdate } from '../../rollout/assessment.js';
import { nextStopText, nodesUntil, untilNextStop } from '../../rollout/next-stop.js';
import { type ApprovalAsked, approvalFor, requestedRevision } from '../../rollout/requests.js';
import { newestStep } from '../../rollout/steps.js';
import { clauseOf } from '../../visible-text.js';
import { type ChangeOptions, isDryRun } from '../change/change.js';
import { confirm } from '../change/change-to.js';
import type { ConnectionOptions } from '../command-line.js';
import { type Session, whoAmI } from '../session.js';
import { hanging, printError } from '../terminal/terminal.js';
import { approvalObject, approvalText, readApproval } from './approval.js';
import { undoWarning } from './plan-signatures.js';
import { withSet } from './read-set.js';
import { printResult, type ResultOutput, type RolloutResult } from './result.js';

export interface RequestOptions extends ConnectionOptions, Pick<ChangeOptions, 'dryRun'> {
  yes?: boolean;
  why?: string;
  /** Only if the set rolls out this one. */
  revision?: string;
  output?: ResultOutput;
}

export interface ApproveOptions extends RequestOptions, ApprovalAsked {}

export const approve = (word: string, options: ApproveOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { name } = set.metadata;
    const { revision, wave, isApproved } = approvalFor(set, options);
    if (isApproved)
      return finish(session, options, { set: name, verb: 'approve', revision, wave, done: approvedAlready(set) });
    const result = { set: name, verb: 'approve', revision, wave };
    const write = async (dryRun: boolean) => {
      const approval = { revision, wave, by: await whoAmI(session), why: options.why ?? null, at: rfc3339(Date.now()) };
      await patchRollout(session, name, { approve: approval }, { dryRun });
    };
    let next = untilNextStop(set, wave);
    // With --yes there is no preview.
    if (isDryRun(options) || options.yes !== true) {
      const approval = await readApproval(session, { set, revision, wave });
      next = approval.next;
      session.terminal.print(`${approvalText(approval, session.terminal)}\n`);
      if (isDryRun(options)) {
        if (options.dryRun === 'server') await write(true);
        session.terminal.print('Nothing was approved (dry run).');
        return printResult(session.terminal, options, { ...result, dryRun: true, approval: approvalObject(approval) });
      }
      const nodes = `${nodesUntil(next)} ${nodesUntil(next) === 1 ? 'node' : 'nodes'}`;
      const question = `Approve wave ${wave} of ${name}, revision ${revision}, for ${nodes}?`;
      if (!(await confirm(session, question, options.yes))) return declined(session);
    }
    await write(false);
    finish(session, options, { ...result, done: `is approved. ${clauseOf(nextStopText(next))}` });
  });

function approvedAlready({ status = {} }: NodeConfigSet): string {
  const step = newestStep(status.steps, ['Approved'], status.updateRevision);
  const who = whoText(step ?? status.rollout?.approve ?? {});
  const since = step?.at ?? status.rollout?.approve?.at;
  return `is approved already${who && `, by ${who}`}${since ? ` at ${since}` : ''}${quotedWhy(step?.why)}`;
}

export const abort = (word: string, options: RequestOptions): Promise<void> => request(word, 'Abort', options);
export const retry = (word: string, options: RequestOptions): Promise<void> => request(word, 'Retry', options);
export const undo = (word: string, options: RequestOptions): Promise<void> => request(word, 'Undo', options);

const questions: Partial<Record<RolloutAction, (revision: string, status: NodeConfigSetStatus) => string>> = {
  Retry: (revision) => `Roll revision ${revision} out again, also to the nodes on which it failed?`,
  Undo: (revision, status) => `Take revision ${revision} back from ${holders(status)}?`,
};

function holders(status: NodeConfigSetStatus): string {
  const nodes = nodesWithUpdate(status);
  return nodes === 0 ? 'all nodes that have it' : nodes === 1 ? 'the node that has it' : `${nodes} nodes`;
}

/** Consequences of each action, after `is being`. An abort needs no confirmation: it must take effect at once. */
const results: Record<RolloutAction, (status: NodeConfigSetStatus) => string> = {
  Abort: () => 'aborted: no further node is changed, and nodes keep what they have',
  Retry: ({ failedNodes = 0 }) => `rolled out again${failedNodes > 0 ? ', also where it failed' : ''}`,
  Undo: (status) => `undone: it is taken back from ${holders(status)}, within maxUnavailable`,
};

const request = (word: string, action: RolloutAction, options: RequestOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { status = {} } = set;
    const { name } = set.metadata;
    const revision = requestedRevision(set, action, options.revision);
    const question = questions[action]?.(revision, status);
    const isPreview = isDryRun(options);
    const warning = action === 'Undo' ? await undoWarning(session, set) : undefined;
    if (warning !== undefined) printError(`relet: warning: ${warning}`);
    if (question !== undefined && !isPreview && !(await confirm(session, `${name}: ${question}`, options.yes)))
      return declined(session);
    if (options.dryRun !== 'client') {
      const by = await whoAmI(session);
      const asked = { action, revision, by, why: options.why ?? null, at: rfc3339(Date.now()) };
      await patchRollout(session, name, { request: asked }, { dryRun: isPreview });
    }
    const result = { set: name, verb: action.toLowerCase(), revision, ...(warning && { warnings: [warning] }) };
    const done = `${isPreview ? 'would be' : 'is being'} ${results[action](status)}`;
    finish(session, options, { ...result, ...(isPreview && { dryRun: true }), done });
  });

/** A merge: null removes a field of an earlier request. */
const patchRollout = (
  { client }: Session,
  name: string,
  rollout: { approve: object } | { request: object },
  { dryRun = false } = {},
): Promise<unknown> =>
  client.patch(
    nodeConfigSets,
    { name, subresource: 'status' },
    { status: { rollout } },
    { as: 'merge', fieldManager: 'relet', dryRun },
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
  const { set, wave, revision, dryRun } = result;
  const what = wave === undefined ? `revision ${revision}` : `wave ${wave} of revision ${revision}`;
  const end = dryRun ? 'nothing was changed (dry run)' : `'relet rollout status ${set} -w' follows it`;
  terminal.print(hanging(`${set}: ${what} ${done}; ${end}`, terminal));
  printResult(terminal, options, result);
}
