/**
 * Decides whether the agent of a node is running. Commands, dashboard and controller use this one function. Pure.
 *
 *   never reported ──► NoAgent
 *   reported, and its lease is over ──► Silent      its last report may be out of date
 *
 * An agent of an earlier relet has no lease and counts as present. So does one that has left its host on purpose (detached). A silent
 * agent is not a failure of its config: nothing is rolled back or counted as failed because of it.
 */

import { type AgentLease, readLease } from '../api/agent-lease.js';
import { agentReasons, okReasons } from '../api/condition-reasons.js';
import type { NodeConfig } from '../api/node-config.js';

/** Signs of the agent of a node. */
export interface AgentSigns {
  /** False: nothing on the node has ever reported about its config. */
  reports: boolean;
  lease?: AgentLease | undefined;
  /** ConfigOK. */
  condition?: { reason: string } | undefined;
  /** The reason of the condition AgentMissing, where that is True: the controller has watched the lease end. */
  missing?: string | undefined;
}

export type AgentPresence = { kind: 'Present' } | { kind: 'NoAgent' } | { kind: 'Silent'; sinceMs: number };

/** `heardMs`: when the lease was last seen to change, by a process that watches it; by default what the lease says itself. */
export function agentPresence(signs: AgentSigns, nowMs: number, heardMs?: number): AgentPresence {
  const { reports, lease, condition, missing } = signs;
  if (!reports) return { kind: 'NoAgent' };
  if (lease === undefined || condition?.reason === okReasons.detached.reason) return { kind: 'Present' };
  const renewedMs = Date.parse(lease.renewTime);
  const isOver = nowMs - (heardMs ?? renewedMs) > lease.durationSeconds * 1000;
  return isOver || missing === agentReasons.silent.reason
    ? { kind: 'Silent', sinceMs: renewedMs }
    : { kind: 'Present' };
}

/** When the lease ends if it is not renewed, by the same clock as `heardMs`. */
export const leaseEndMs = ({ durationSeconds }: AgentLease, heardMs: number): number =>
  heardMs + durationSeconds * 1000;

export function agentSigns({ status }: NodeConfig): AgentSigns {
  const find = (type: string) => status?.conditions?.find((one) => one.type === type);
  const missing = find('AgentMissing');
  return {
    reports: status?.config !== undefined,
    lease: readLease(status?.lease),
    condition: find('ConfigOK'),
    missing: missing?.status === 'True' ? missing.reason : undefined,
  };
}
