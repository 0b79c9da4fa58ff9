/**
 * Adopts the state that a real kubelet with Dynamic Kubelet Configuration left in the same directory, under DIR/store: its records and
 * the checkpoints they name. It is copied, not moved, so that this kubelet finds its own state unchanged after a downgrade.
 */
import { join } from 'node:path';
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { type Files, isMissing } from '../../atomic-file.js';
import type { Log } from '../../log.js';
import { decodeSource, type NodeState } from './node-state.js';

export interface AdoptOptions {
  dir: string;
  state: NodeState;
  files: Files;
  log: Log;
}

/** Only on the very first start: once relet has records of its own, they count. */
export function adopt({ dir, state, files, log }: AdoptOptions): void {
  const isFirstStart = files.stat(join(dir, 'meta', 'assigned')) === undefined;
  if (!isFirstStart || files.stat(join(dir, 'store'))?.isDirectory() !== true) return;
  const from = { dir: join(dir, 'store'), files, log };
  const lastKnownGood = theirs(from, 'last-known-good');
  const assigned = theirs(from, 'assigned');
  for (const source of [assigned, lastKnownGood]) if (source) copyCheckpoint(from, source, state);
  state.setLastKnownGood(lastKnownGood);
  // Written last: its presence marks a complete adoption.
  state.assign(assigned);
  log.info('adopted checkpoints of a kubelet', {
    assigned: formatRef(assigned, 'log'),
    lastKnownGood: formatRef(lastKnownGood, 'log'),
  });
}

interface From {
  dir: string;
  files: Files;
  log: Log;
}

function theirs({ dir, files, log }: From, name: string): ExactRef | undefined {
  try {
    return decodeSource(files.read(join(dir, 'meta', name)).toString('utf8'));
  } catch (cause) {
    if (!isMissing(cause)) log.error('record of a kubelet unreadable, treated as local', { name, cause });
    return undefined;
  }
}

function copyCheckpoint({ dir, files, log }: From, source: ExactRef, state: NodeState): void {
  const path = join(dir, 'checkpoints', source.uid, source.resourceVersion);
  try {
    const content = files.list(path).map((name) => [name, files.read(join(path, name))] as const);
    if (files.stat(path)?.isDirectory())
      state.checkpoints.save(source, { files: new Map(content), annotations: {}, binaryKeys: [] });
  } catch (cause) {
    log.error('checkpoint of a kubelet cannot be copied', { path, cause });
  }
}
