/**
 * The lease of an agent, renewed while it has nothing else to report: it shows that the agent is idle and not gone. In the status of a
 * NodeConfig, beside what the agent reports, and renewed with every write of that; where the Node holds the reference, in an
 * annotation. docs/decisions/agent-lease.md has the reasons.
 */
import { isObject, parseObject } from '../json.js';

export interface AgentLease {
  renewTime: string;
  durationSeconds: number;
}

/** On a Node: the lease as JSON. */
export const leaseAnnotation = 'relet.dev/agent-lease';

/** An agent that has reported nothing else for so long renews. */
export const renewMs = 5 * 60_000;
/** Two renewals may fail, or be late. */
const leaseSeconds = 600;

export const newLease = (renewTime: string): AgentLease => ({ renewTime, durationSeconds: leaseSeconds });

/** A write of something else renews it too; so it is due a little earlier than the next turn would be. */
export function isRenewalDue(lease: AgentLease | undefined, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(lease?.renewTime ?? '');
  return !(ageMs >= 0 && ageMs < renewMs / 2) || lease?.durationSeconds !== leaseSeconds;
}

/** A node writes it: undefined if it is not a lease, or one of more than a day. */
export function readLease(value: unknown): AgentLease | undefined {
  const { renewTime, durationSeconds } = isObject(value) ? value : {};
  if (typeof renewTime !== 'string' || Number.isNaN(Date.parse(renewTime))) return undefined;
  if (typeof durationSeconds !== 'number' || !(durationSeconds > 0 && durationSeconds <= 86_400)) return undefined;
  return { renewTime, durationSeconds };
}

export const readLeaseText = (text: string | undefined): AgentLease | undefined => readLease(parseObject(text));
