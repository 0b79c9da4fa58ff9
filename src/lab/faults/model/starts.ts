/** Promises 1, 3 and 9, at every start of a kubelet: a whole, valid, signed config that was assigned, and another one after each stop. */
import { classOf, configIn, notSigned } from '../configs.js';
import type { Entry } from '../history.js';
import { type ObservedNode, statementEnd } from './observed-node.js';
import type { Report } from './violation.js';

const bootMs = 12_000;
/** Statements have whole seconds. */
const wholeSecondMs = 1000;

export function checkStarts(facts: ObservedNode, entries: readonly Entry[], report: Report): (entry: Entry) => void {
  /** The kubelet was stopped by the agent that still runs. */
  let stoppedByAgent = false;
  let isLateReported = false;
  /** Domain of each ConfigMap, by its name. Those that a set makes are never edited. */
  const domains = new Map<string, string>();
  /** When the node got a config first, by domain. */
  const firstReadMs = new Map<string, number>();
  let [skewMs, slowestMs] = [0, 0];
  return (entry) => {
    const { atMs } = entry;
    if (entry.kind === 'action' && entry.action.kind === 'jump-clock' && entry.action.node === facts.node) {
      skewMs += entry.action.byMs;
      slowestMs = Math.min(slowestMs, skewMs);
    }
    if (entry.kind === 'read' && entry.node === facts.node && entry.status < 300) {
      const domain = domains.get(entry.config) ?? '';
      if (!firstReadMs.has(domain)) firstReadMs.set(domain, atMs);
    }
    if (entry.kind === 'config') domains.set(entry.config, entry.domain);
    const isLate = facts.isUp && facts.isBooting && atMs - facts.upSinceMs > bootMs;
    if (isLate && !isLateReported)
      report(3, atMs, `no kubelet was started within ${bootMs / 1000} s of the start of the agent`);
    isLateReported = isLate;
    if (!('node' in entry) || entry.node !== facts.node) return;
    if (entry.kind === 'agent-up' || entry.kind === 'agent-down') stoppedByAgent = false;
    // A new agent stops the kubelet that it finds.
    if (entry.kind === 'exit') stoppedByAgent = entry.isRequested && facts.isUp && !facts.isBooting;
    if (entry.kind !== 'start') return;
    const { domain } = entry;
    const behaviour = classOf(domain);
    if (!entry.isWhole || behaviour === undefined)
      report(3, atMs, `the kubelet was started with half a config (${domain})`);
    else if (behaviour !== 'local' && !facts.everAssigned.has(configIn(domain)))
      report(3, atMs, `started ${domain}, which was never assigned`);
    if (behaviour === 'invalid') report(1, atMs, `the kubelet was started with the invalid config ${domain}`);
    if (notSigned.some((one) => one === behaviour))
      report(9, atMs, `the kubelet was started with ${domain}, which no key of the trust file has signed`);
    const endMs = statementEnd(domain, entries) ?? Number.POSITIVE_INFINITY;
    if ((firstReadMs.get(domain) ?? 0) + slowestMs > endMs + wholeSecondMs)
      report(9, atMs, `the kubelet was started with ${domain}, which the node got when its statement had expired`);
    if (stoppedByAgent && domain === facts.running) report(1, atMs, `restarted without another config (${domain})`);
  };
}
