/** The shape of one catalogue entry, and what each class of change asks of the person who makes it. */
import type { Minor } from '../model.js';

/**
 * What changing a field on a live node needs, mildest first. relet restarts the kubelet for every change, so `restart` is
 * the normal class: nothing else is needed. What the new value may do to running pods is the field's `risk`.
 */
export type Needs = 'none' | 'restart' | 'drain' | 'state-file' | 'reboot' | 'never';

export interface Entry {
  /** What the field is for. */
  what: string;
  needs: Needs;
  /** Why that much and not less. */
  why: string;
  /** What can go wrong. */
  risk: string;
  /** Where a newer kubelet treats the field differently: the class and the reason from that minor on. */
  later?: { from: Minor; needs: Needs; why: string };
}

export type Entries = Readonly<Record<string, Entry>>;

export const needsInOrder: readonly Needs[] = ['none', 'restart', 'drain', 'state-file', 'reboot', 'never'];

export const needsMeaning: Readonly<Record<Needs, string>> = {
  none: 'Nothing: the kubelet of a registered, running node does not look at it.',
  restart: 'A kubelet restart, which relet does for every change.',
  drain: 'An empty node: pods that are already there would break, be refused, or contradict the new value.',
  'state-file':
    'A drain, then removal of a state file under the kubelet root directory; the kubelet refuses to start while the old one is there.',
  reboot: 'A drain and a reboot: what the old value left in the kernel or the runtime is not undone by a restart.',
  never: 'Not on a live node. Set it in the local file when the node is built, or replace the node.',
};
