/** The audit of a fleet: each check on each distinct config, findings by pool with the nodes that have them. Pure. */
import { fieldImpact, type Needs } from '../config/catalogue.js';
import type { EffectiveFleet, FleetNode, Unread } from '../fleet/effective-configs.js';
import { counted, groupBy } from '../fleet/inventory.js';
import { isControlPlane, poolOf } from '../fleet/pools.js';
import { byNaturalOrder } from '../natural-order.js';
import { type Benchmark, benchmarks, cisVersionOf, cisVersions, idsOf, nsaIds, stigIds } from './benchmarks.js';
import { type Check, type CheckResult, checks, type Severity, severities } from './checks.js';
import { isExpired, type Waiver, waiverFor } from './waivers.js';

export interface Finding {
  check: string;
  ids: string[];
  title: string;
  severity: Severity;
  result: CheckResult;
  pool: string;
  nodes: string[];
  /** The value that decides. */
  found: string;
  /** Origin of the value: `default`, `flag --read-only-port`. */
  origin: string;
  why: string;
  /** For a finding that fails: needs and risk of the change on a live node, or the way by hand. */
  fix?: { needs: Needs; risk: string } | { byHand: string };
  waiver?: Waiver;
}

export interface AuditReport {
  nodes: number;
  /** Versions of the CIS benchmark that were used, by kubelet minor. */
  cis: Record<string, string>;
  /** Failing first, then cannot-tell; by severity, check and pool. */
  findings: Finding[];
  /** Nodes by result of a check. */
  counts: Record<CheckResult | 'waived', number>;
  expiredWaivers: Waiver[];
  unread: Pick<Unread, 'name' | 'reason'>[];
}

export interface AuditOptions {
  nowMs: number;
  by?: string | undefined;
  waivers?: readonly Waiver[];
  /** Keys, ids, or names of benchmarks; all when empty. */
  only?: readonly string[];
}

/** Whether `--only` or a waiver can name it. */
export function isCheckName(word: string): boolean {
  const ids = [...Object.values(stigIds), ...Object.values(nsaIds)].flat();
  const cis = cisVersions.flatMap(({ keys }) => keys.map((_, at) => `CIS-4.2.${at + 1}`));
  return checks.some(({ key }) => key === word) || ids.includes(word) || cis.includes(word);
}

export function audit(fleet: EffectiveFleet, options: AuditOptions): AuditReport {
  const findings: Finding[] = [];
  const pools = groupBy(fleet.nodes, (node) => poolOf(node, options.by));
  for (const [pool, members] of pools) {
    const alike = groupBy(members, ({ document, labels }) => `${document} ${isControlPlane(labels)}`);
    const ofPool = [...alike.values()].flatMap((nodes) => findingsOf(fleet, pool, nodes, options));
    findings.push(...merged(ofPool));
  }
  const minors = new Set([...fleet.documents.values()].map(({ minor }) => minor));
  return {
    nodes: fleet.nodes.length,
    cis: Object.fromEntries(
      [...minors].sort((a, b) => a - b).map((minor) => [`1.${minor}`, cisVersionOf(minor).version]),
    ),
    findings: findings.sort(inOrder),
    counts: countsOf(findings),
    expiredWaivers: (options.waivers ?? []).filter((waiver) => isExpired(waiver, options.nowMs)),
    unread: fleet.unread.map(({ name, reason }) => ({ name, reason })),
  };
}

/** Findings of nodes with one document. */
function findingsOf(fleet: EffectiveFleet, pool: string, nodes: FleetNode[], options: AuditOptions): Finding[] {
  const { only = [], waivers = [], nowMs } = options;
  const document = fleet.documents.get(nodes[0]!.document)!;
  const subject = { document, isControlPlane: isControlPlane(nodes[0]!.labels) };
  const named = only.filter((word): word is Benchmark => benchmarks.includes(word as Benchmark));
  return checks.flatMap((check): Finding[] => {
    const all = idsOf(check.key, document.minor);
    const isNamed = only.some((word) => word === check.key || all.includes(word));
    const ids = only.length === 0 || isNamed ? all : idsOf(check.key, document.minor, named);
    if (ids.length === 0) return [];
    const { result, found } = check.evaluate(subject);
    const origins = new Set(check.fields.map((field) => document.origins[field] ?? 'default'));
    const base = {
      check: check.key,
      ids,
      title: check.title,
      severity: check.severity,
      result,
      pool,
      found,
      origin: check.fields.length === 0 ? 'flags' : [...origins].sort(setFirst).join(', '),
      why: check.why,
      ...(result === 'fail' && fixOf(check, document.minor)),
    };
    if (result !== 'fail') return [{ ...base, nodes: nodes.map(({ name }) => name) }];
    const waived = groupBy(nodes, ({ labels }) =>
      String(waivers.indexOf(waiverFor(waivers, [...ids, check.key], labels, nowMs)!)),
    );
    return [...waived].map(([at, some]) => ({
      ...base,
      nodes: some.map(({ name }) => name),
      ...(at !== '-1' && { waiver: waivers[Number(at)]! }),
    }));
  });
}

const setFirst = (a: string, b: string): number => Number(a === 'default') - Number(b === 'default');

function fixOf({ fields, fix, byHand }: Check, minor: number): Pick<Finding, 'fix'> {
  if (fix === undefined) return { fix: { byHand: byHand! } };
  const impact = fieldImpact(fields[0]!, minor);
  return impact === undefined ? {} : { fix: { needs: impact.needs, risk: impact.risk ?? '' } };
}

/** Nodes of a pool with the same finding are one. */
function merged(findings: Finding[]): Finding[] {
  const groups = groupBy(findings, ({ nodes: _, ...rest }) => JSON.stringify(rest));
  return [...groups.values()].map((same) => ({
    ...same[0]!,
    nodes: same.flatMap(({ nodes }) => nodes).sort(byNaturalOrder),
  }));
}

const results: readonly CheckResult[] = ['fail', 'cannot-tell', 'pass', 'not-applicable'];
const order = checks.map(({ key }) => key);

function inOrder(a: Finding, b: Finding): number {
  return (
    results.indexOf(a.result) - results.indexOf(b.result) ||
    Number(a.waiver !== undefined) - Number(b.waiver !== undefined) ||
    severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
    order.indexOf(a.check) - order.indexOf(b.check) ||
    byNaturalOrder(a.pool, b.pool)
  );
}

function countsOf(findings: readonly Finding[]): AuditReport['counts'] {
  const counts = { pass: 0, fail: 0, 'cannot-tell': 0, 'not-applicable': 0, waived: 0 };
  for (const { result, waiver, nodes } of findings) counts[waiver === undefined ? result : 'waived'] += nodes.length;
  return counts;
}

/** Failing, and no waiver accepts it. */
export const isOpen = ({ result, waiver }: Finding): boolean => result === 'fail' && waiver === undefined;

/** Results are counted by node too: with many nodes, the number of failing checks alone would hide how many have them. */
export function auditSummary({ nodes, cis, counts, findings }: AuditReport): string {
  const used = (prefix: string) => findings.some(({ ids }) => ids.some((id) => id.startsWith(prefix)));
  const byVersion = groupBy(Object.keys(cis), (minor) => cis[minor]!);
  const versions = [...byVersion].map(([version, minors]) => `${version} for kubelet ${minors.join(' and ')}`);
  const names = [
    ...(used('CIS-') ? [`CIS Benchmark ${versions.join(', ')}`] : []),
    ...(used('V-') ? ['STIG'] : []),
    ...(used('NSA-') ? ['NSA/CISA'] : []),
  ];
  const failing = new Set(findings.filter(isOpen).map(({ check }) => check)).size;
  const fail = failing === 0 ? 'no check fails' : `${counted(failing, 'check')} fail${failing === 1 ? 's' : ''}`;
  const results = Object.entries({
    fail: counts.fail,
    'not known': counts['cannot-tell'],
    waived: counts.waived,
    pass: counts.pass,
    'not applicable': counts['not-applicable'],
  }).filter(([, number]) => number > 0);
  const byNode = results.map(([name, number]) => `${number} ${name}`).join(', ');
  return `${[counted(nodes, 'node'), ...names].join(', ')}: ${fail}. Results by check and node: ${byNode || 'none'}.`;
}

/** `high`, `waived`, `cannot-tell`, `pass`. */
export const resultText = ({ result, waiver, severity }: Finding): string =>
  waiver !== undefined ? 'waived' : result === 'fail' ? severity : result;

export function fixText({ fix, waiver }: Finding): string {
  if (waiver !== undefined) return `Waived until ${waiver.until}: ${waiver.reason}`;
  if (fix === undefined) return '';
  return 'byHand' in fix ? `By hand: ${fix.byHand}.` : `The fix needs ${needsTexts[fix.needs]}. ${fix.risk}`.trim();
}

const needsTexts: Record<Needs, string> = {
  none: 'no restart',
  restart: 'a kubelet restart',
  drain: 'a drain and a kubelet restart',
  'state-file': 'a drain, removal of a state file and a kubelet restart',
  reboot: 'a drain and a reboot',
  never: 'a new node',
};

export type FailLevel = Severity | 'cannot-tell' | 'none';

/** Whether the audit fails: a finding of that severity or above, or a waiver that has expired. */
export function isFailing({ findings, expiredWaivers }: AuditReport, level: FailLevel): boolean {
  if (level === 'none') return false;
  if (expiredWaivers.length > 0) return true;
  const least = level === 'cannot-tell' ? severities.length : severities.indexOf(level);
  return findings.some(
    ({ result, severity, waiver }) =>
      waiver === undefined &&
      ((result === 'fail' && severities.indexOf(severity) <= least) ||
        (result === 'cannot-tell' && level === 'cannot-tell')),
  );
}
