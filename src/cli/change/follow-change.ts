/** Follows one node until a change is through, or until it is clear that it will not be. */
import type { HeldState } from '../../api/node-config.js';
import type { ConfiguredNode } from '../../fleet/config-references.js';
import { events } from '../../kube/resource-type.js';
import { oneLine } from '../../visible-text.js';
import type { Session } from '../session.js';
import { type ChangeProgress, changeProgress, type Wish } from './change-progress.js';

export type ChangeEnd =
  | { kind: 'active'; proven: boolean }
  /** `reported`: the node as it was then. */
  | { kind: 'rejected' | 'rolled back' | 'cannot follow'; error: string; reported: ConfiguredNode }
  | { kind: 'held'; held: HeldState }
  | { kind: 'changed' | 'gone' | 'timed out' | 'interrupted' };

export interface FollowChange {
  node: string;
  wish: Wish;
  timeoutMs: number;
  onProgress(text: string): void;
}

/**
 * How long the same doubtful error must be reported before it counts as the answer. The agent clears an old one when it has
 * fetched and validated the new config: it waits up to 5 s for permission, and validating takes a few more.
 */
const doubtMs = 10_000;

/** Never throws for what the node does; a watch that breaks is taken up again until the time is over. */
export async function followChange(session: Session, options: FollowChange): Promise<ChangeEnd> {
  const { node: name, wish, timeoutMs, onProgress } = options;
  const done = new AbortController();
  let doubt: { error: string; timer: NodeJS.Timeout } | undefined;
  const late = setTimeout(() => done.abort({ kind: 'timed out' } satisfies ChangeEnd), timeoutMs);
  const onInterrupt = () => done.abort({ kind: 'interrupted' } satisfies ChangeEnd);
  if (session.signal.aborted) onInterrupt();
  session.signal.addEventListener('abort', onInterrupt, { once: true });
  const look = (node: ConfiguredNode | undefined) => {
    if (node === undefined) return done.abort({ kind: 'gone' } satisfies ChangeEnd);
    const progress = changeProgress(node, wish);
    if (progress.kind === 'asked' && node.held !== undefined)
      return done.abort({ kind: 'held', held: node.held } satisfies ChangeEnd);
    const end = endOf(progress, node);
    const doubtful = 'doubtful' in progress ? progress.error : undefined;
    // The Node changes for other reasons too (heartbeats), and the same error goes on counting.
    if (doubt?.error !== doubtful) {
      clearTimeout(doubt?.timer);
      doubt =
        doubtful === undefined ? undefined : { error: doubtful, timer: setTimeout(() => done.abort(end), doubtMs) };
    }
    if (doubtful !== undefined) onProgress(progressText({ kind: 'asked', error: doubtful }));
    else if (end !== undefined) done.abort(end);
    else onProgress(progressText(progress));
  };
  try {
    await session.references.follow({
      name,
      signal: done.signal,
      onList: (present) => look(present.find((node) => node.name === name)),
      onChange: (node, gone) => look(gone ? undefined : node),
      onFailure: (error) => onProgress(`cannot be followed, trying again: ${(error as Error).message}`),
    });
    return done.signal.reason as ChangeEnd;
  } finally {
    clearTimeout(late);
    clearTimeout(doubt?.timer);
    session.signal.removeEventListener('abort', onInterrupt);
  }
}

function endOf(progress: ChangeProgress, reported: ConfiguredNode): ChangeEnd | undefined {
  if (progress.kind === 'asked' || progress.kind === 'taken') return undefined;
  if ('error' in progress) return { kind: progress.kind, error: progress.error, reported };
  if (progress.kind !== 'active') return progress;
  return progress.ready ? { kind: 'active', proven: progress.proven } : undefined;
}

function progressText(progress: ChangeProgress): string {
  switch (progress.kind) {
    case 'asked':
      return progress.error === undefined
        ? 'waiting for the node to accept it'
        : `waiting for the node to accept it (it reports: ${progress.error})`;
    case 'taken':
      return 'accepted, restarting the kubelet';
    default:
      return 'active, waiting for the Node to be Ready again';
  }
}

interface Event {
  reason?: string;
  message?: string;
  lastTimestamp?: string;
  involvedObject?: { kind?: string };
}

export interface ConfigEvent {
  at: string;
  reason: string;
  message: string;
}

/** What the node told about its config in events, oldest first. Where they may not be read, none. */
export async function configEvents({ client, signal }: Session, node: string): Promise<ConfigEvent[]> {
  try {
    const fieldSelector = `involvedObject.kind=Node,involvedObject.name=${node}`;
    const { items } = await client.list<Event & { apiVersion: string; kind: string; metadata: { name: string } }>(
      events,
      { namespace: 'default', fieldSelector, signal },
    );
    return items
      .filter(({ reason }) => reason?.startsWith('KubeletConfig'))
      .map(({ reason = '', message = '', lastTimestamp = '' }) => ({
        at: lastTimestamp,
        reason: oneLine(reason),
        message: oneLine(message),
      }))
      .sort((a, b) => a.at.localeCompare(b.at));
  } catch (error) {
    signal.throwIfAborted();
    void error;
    return [];
  }
}

/** Why, in detail, for the error in the status. A relet that does not report it has it in an event, if that is still there. */
export async function causeOfError(session: Session, node: ConfiguredNode): Promise<string | undefined> {
  const { error, assigned } = node.status;
  if (error === undefined || node.cause !== undefined) return node.cause;
  const { uid, resourceVersion } = assigned?.configMap ?? {};
  const config = uid === undefined ? 'local config: ' : `, UID: ${uid}, ResourceVersion: ${resourceVersion}, `;
  const told = (await configEvents(session, node.name))
    .reverse()
    .find(({ message }) => message.includes(config) && message.includes(`: ${error}: `));
  return told?.message.slice(told.message.indexOf(`: ${error}: `) + error.length + 4);
}
