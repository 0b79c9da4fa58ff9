/** Parses the spec of a NodeConfigSet: applies defaults, and converts its values to numbers. Pure. */
import type { LabelSelectorObject } from '../api/label-selector.js';
import {
  type NodeConfigSetSpec,
  type SetConfig,
  type SetStrategy,
  type Share,
  specDefaults,
  strategyDefaults,
} from '../api/node-config-set.js';
import { type AnalysisRules, readAnalysis } from './analysis/rules.js';
import { checkedShare, durationMs, InvalidSpec, minuteOfDay } from './spec-values.js';
import { isTimeZone, type TimeWindow } from './windows.js';

export interface SetRules {
  waves: { nodes: Share; soakMs: number; approve: boolean }[];
  maxUnavailable: Share;
  maxInTrial: Share;
  maxFailed: Share;
  onFailure: 'Halt' | 'Rollback';
  progressDeadlineMs: number;
  order: string[];
  drain: {
    policy: 'WhenNeeded' | 'Always' | 'Never';
    timeoutMs: number;
    onUndrainable: 'Skip' | 'Halt';
    unmanagedPods: 'Block' | 'Evict';
  };
  windows: TimeWindow[];
  /** Undefined: waves are not compared with controls. */
  analysis?: AnalysisRules | undefined;
  updateNodes: 'All' | 'New' | 'Selected';
  expiresAfterMs: number | undefined;
  paused: boolean;
}

export function readRules(spec: NodeConfigSetSpec): SetRules {
  const strategy: Required<Omit<SetStrategy, 'analysis'>> & Pick<SetStrategy, 'analysis'> = {
    ...strategyDefaults,
    ...spec.strategy,
  };
  const drain = { ...strategyDefaults.drain, ...strategy.drain };
  const waves = strategy.waves.map(({ nodes, soak = '0s', approve = false }, index) => {
    const at = `strategy.waves[${index}]`;
    return { nodes: checkedShare(nodes, `${at}.nodes`), soakMs: durationMs(soak, `${at}.soak`), approve };
  });
  return {
    // The last wave is always everything, so that the set reaches what it declares.
    waves: waves.at(-1)?.nodes === '100%' ? waves : [...waves, { nodes: '100%', soakMs: 0, approve: false }],
    maxUnavailable: checkedShare(strategy.maxUnavailable, 'strategy.maxUnavailable'),
    maxInTrial: checkedShare(strategy.maxInTrial, 'strategy.maxInTrial'),
    maxFailed: checkedShare(strategy.maxFailed, 'strategy.maxFailed'),
    onFailure: strategy.onFailure,
    progressDeadlineMs: durationMs(strategy.progressDeadline, 'strategy.progressDeadline'),
    order: strategy.order,
    drain: {
      policy: drain.policy,
      timeoutMs: durationMs(drain.timeout, 'strategy.drain.timeout'),
      onUndrainable: drain.onUndrainable,
      unmanagedPods: drain.unmanagedPods,
    },
    windows: strategy.windows.map(({ days = [], from, to, timeZone = 'UTC' }, index) => {
      if (!isTimeZone(timeZone))
        throw new InvalidSpec(
          `strategy.windows[${index}].timeZone: '${timeZone}' is not a time zone of the IANA database, such as Europe/Berlin`,
        );
      const at = `strategy.windows[${index}]`;
      return { days, fromMinute: minuteOfDay(from, `${at}.from`), toMinute: minuteOfDay(to, `${at}.to`), timeZone };
    }),
    analysis: strategy.analysis && readAnalysis(strategy.analysis, changedFields(spec.config)),
    updateNodes: spec.updateNodes ?? specDefaults.updateNodes,
    expiresAfterMs: spec.expiresAfter === undefined ? undefined : durationMs(spec.expiresAfter, 'expiresAfter'),
    paused: spec.paused ?? specDefaults.paused,
  };
}

/** Top-level fields that an overlay names; those of a whole config are not known without the node. */
const changedFields = ({ overlay = {}, unset = [] }: SetConfig): string[] => [
  ...Object.keys(overlay),
  ...unset.map((path) => path.split('.')[0]!),
];

/** Budgets round down and are at least 1, except that 0 and 0% stop. Waves round up. */
export function shareOf(share: Share, total: number, rounding: 'budget' | 'down' | 'up'): number {
  if (typeof share === 'number') return share;
  const percent = Number(share.slice(0, -1));
  if (rounding === 'up') return Math.ceil((total * percent) / 100);
  const down = Math.floor((total * percent) / 100);
  return rounding === 'budget' && percent > 0 ? Math.max(1, down) : down;
}

/** Labels that the NodeRestriction plugin lets a kubelet set on its own Node. Others under these domains, and outside, it may not. */
const ownLabels = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

/** The labels of a selector that a kubelet may set on itself, so that a node could choose its set, and with it its grants. */
export function selfSetLabels({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): string[] {
  const keys = [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
  return [...new Set(keys)].filter(mayKubeletSet).sort();
}

/** As the NodeRestriction plugin decides: of the domains of Kubernetes a kubelet may set few labels, of all others any. */
function mayKubeletSet(key: string): boolean {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const isIn = (parent: string) => domain === parent || domain.endsWith(`.${parent}`);
  if (isIn('node-restriction.kubernetes.io')) return false;
  if (ownLabels.has(key) || isIn('kubelet.kubernetes.io') || isIn('node.kubernetes.io')) return true;
  return !isIn('kubernetes.io') && !isIn('k8s.io');
}
