/** Types of the catalogue: an entry, its cases, and the classes of change (`Needs`) with what each requires of an operator. */
import type { PodFailure } from '../admission.js';
import type { Change } from '../diff.js';
import type { KubeletConfig, Minor } from '../model.js';
import type { NodeFacts } from '../node-facts.js';

/**
 * Class of a change on a live node, mildest first. relet restarts the kubelet for every change, so `restart` is
 * the normal class: nothing else is needed. What the new value does to running pods is a PodsEffect.
 *
 * One criterion for values that are written when a pod or container is created: `restart`. Those that run keep the old value until
 * they are created again, and both values can live side by side. It is `drain` only where a pod that stays would break or be
 * rejected, at the restart or when one of its containers restarts.
 */
export type Needs = 'none' | 'restart' | 'drain' | 'state-file' | 'reboot' | 'never';

/** Established effect on the running pods. `unknown` is never shown as "not affected". */
export type PodsEffect =
  | { kind: 'unaffected' }
  | { kind: 'new containers only' }
  | { kind: 'fail admission'; pods: readonly PodFailure[] }
  | { kind: 'may be evicted' }
  | { kind: 'unknown' };

export interface ImpactContext {
  minor: Minor;
  /** Both with or without defaults. */
  before: KubeletConfig;
  after: KubeletConfig;
  facts?: NodeFacts;
}

/** The context with all defaults set. */
export interface Situation extends ImpactContext {
  facts: NodeFacts;
}

export interface Impact {
  needs: Needs;
  /** The most that it can need, if the running pods are not known. */
  mayNeed?: Needs;
  /** Why that much and not less. */
  why: string;
  /** Possible damage. Absent if a change in this direction has no risk of its own. */
  risk?: string;
  /** Effects that only a boot of the host shows: a trial passes all the same. */
  atBoot?: string;
  pods: PodsEffect;
}

/** A direction, or a state of the node, in which a change of the field differs from what the entry says in general. */
export interface Case {
  /** As people read it: `lowered`, `with CPU manager policy none`. */
  when: string;
  applies(change: Change, situation: Situation): boolean;
  /** Default: that of the entry. */
  needs?: Needs;
  /** As of an Impact. */
  mayNeed?: Needs;
  why?: string;
  /** '': none in this direction. */
  risk?: string;
  /** '': nothing in this direction. */
  atBoot?: string;
  pods?: PodsEffect['kind'] | ((change: Change, situation: Situation) => PodsEffect);
}

export interface Entry {
  /** Purpose of the field. */
  what: string;
  needs: Needs;
  /** Why that much and not less. */
  why: string;
  /** Possible damage. */
  risk: string;
  /** Effects that only a boot of the host shows, or its shutdown: a trial passes all the same. */
  atBoot?: string;
  /**
   * Unless given: `unaffected` up to class restart, `unknown` above it. So an entry or a case of class restart says here what it
   * does to pods, unless it was found to do nothing to them.
   */
  pods?: PodsEffect['kind'];
  /** Set if a newer kubelet treats the field differently: the class and the reason from that minor on. */
  later?: { from: Minor; needs: Needs; why: string };
  /** The first that applies wins. They come after `later`. */
  cases?: readonly Case[];
}

export type Entries = Readonly<Record<string, Entry>>;

export const needsInOrder: readonly Needs[] = ['none', 'restart', 'drain', 'state-file', 'reboot', 'never'];

export const needsMeaning: Readonly<Record<Needs, string>> = {
  none: 'Nothing: the kubelet of a registered, running node does not look at it.',
  restart: 'A kubelet restart, which relet does for every change.',
  drain:
    'The node must be empty: pods that stay would break or be rejected, at the restart or when one of their containers restarts.',
  'state-file':
    'A drain, then removal of a state file under the kubelet root directory; the kubelet refuses to start while the old one is there.',
  reboot: 'A drain and a reboot: what the old value left in the kernel or the runtime is not undone by a restart.',
  never: 'Not on a live node. Set it in the local file when the node is built, or replace the node.',
};
