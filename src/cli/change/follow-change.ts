/** Follows one node until a change is through, or until it is clear that it will not be. */
import type { HeldState } from '../../api/node-config.js';
import { type ChangeProgress, changeProgress, type Wish } from '../../fleet/change-progress.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { Session } from '../session.js';

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
    await session.references.watch({
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
