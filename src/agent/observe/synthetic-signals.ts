/**
 * Made-up signals for a machine without pods, such as one with a hollow kubelet. Every signal is constant, and gets worse while the
 * running config has a given value.
 */
import type { Observed, ObserveRequest } from '../../api/observe.js';
import { isSignalName, type SignalName, signals } from '../../api/signals.js';
import type { NodeSignals } from './sampler.js';

interface Harm {
  /** Matches the text of a config that does it. */
  config: RegExp;
  signal: SignalName;
  /** Levels: times so much. Counts: so many workloads. Not bounded: a node may report anything. */
  factor: number;
}

/** `maxPods=66:podStartSeconds=1.7` */
export function parseHarm(text: string): Harm {
  const [, field, value, signal = '', factor] = /^(\w+)=([\w.-]+):(\w+)=([\d.]+)$/.exec(text) ?? [];
  if (!isSignalName(signal))
    throw new Error(
      `--hollow-worse-if=${text}: must be FIELD=VALUE:SIGNAL=FACTOR, as in maxPods=66:podStartSeconds=1.7`,
    );
  return { config: new RegExp(`\\b${field}["']?\\s*:\\s*["']?${value}(?![\\w.])`), signal, factor: Number(factor) };
}

export class SyntheticSignals implements NodeSignals {
  readonly #harms: readonly Harm[];
  #configText = () => '';

  constructor(harms: readonly Harm[]) {
    this.#harms = harms;
  }

  async run(configText: () => string): Promise<void> {
    this.#configText = configText;
  }

  answer({ id }: ObserveRequest): Observed {
    const found: Observed['signals'] = {};
    for (const [name, { kind, floor }] of Object.entries(signals) as [SignalName, (typeof signals)[SignalName]][]) {
      const usual = 20 * floor;
      const harm = this.#harms.find(({ signal, config }) => signal === name && config.test(this.#configText()));
      const worse = kind === 'level' ? usual * (harm?.factor ?? 1) : (harm?.factor ?? 0);
      found[name] = [usual, worse];
    }
    return { id, signals: found };
  }
}
