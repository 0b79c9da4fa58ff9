/**
 * Types for facts about a node and its pods, from which the impact of a config change is computed. Every fact may be unknown, and then
 * decides nothing. `src/fleet/node-facts.ts` reads them from the API.
 */

/** Amounts in billionths, as `src/go/quantity.ts` has them: cpu in cores, memory and ephemeral-storage in bytes, pods. */
export type Amounts = Readonly<Record<string, bigint>>;

export interface PodFacts {
  /** `namespace/name`. */
  name: string;
  /** RFC 3339. */
  createdAt: string;
  /** Requests of the whole pod: containers, init containers, sidecars and overhead. */
  requests: Amounts;
  qosClass: 'Guaranteed' | 'Burstable' | 'BestEffort';
  priority?: number;
  /** A static pod, by its mirror pod in the API. */
  isStatic: boolean;
  /** A drain leaves it. */
  ofDaemonSet: boolean;
  sysctls: readonly string[];
  /** It has a user namespace of its own (`hostUsers: false`). */
  hasUserNamespace: boolean;
}

export interface NodeFacts {
  /** Without those that have succeeded or failed. */
  pods?: readonly PodFacts[];
  capacity?: Amounts;
  allocatable?: Amounts;
  /** `spec.providerID` of the Node; '' where it has none. */
  providerID?: string;
}
