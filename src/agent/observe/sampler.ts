/**
 * Samples this host once a minute and answers observation requests from the samples. The history survives a restart of the agent, but
 * not a boot.
 */
import type { Observed, ObserveRequest } from '../../api/observe.js';
import type { Clock } from '../../clock.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';
import { answer, type PodLists } from './answer.js';
import { addSample, type HistoryRecord, isHistory, lastReading, sampleMs, usable } from './history.js';
import { type CgroupPlaces, HostReader, type HostText } from './host-reading.js';

// Not durable: a power cut makes it void.
const historyRecord = defineRecord('host-history', isHistory, { durable: false });

/** Source of answers: the host, or what stands in for it in a simulation. */
export interface NodeSignals {
  /** Samples until the signal fires. `configText` is what the running kubelet was started with: its flags, then its config. */
  run(configText: () => string, signal: AbortSignal): Promise<void>;
  answer(request: ObserveRequest, pods: PodLists): Observed;
}

export interface SamplerOptions {
  host: HostText;
  places: Omit<CgroupPlaces, 'cgroupRoot'>;
  state: NodeState;
  bootId: string;
  clock: Clock;
}

export class Sampler implements NodeSignals {
  readonly #options: SamplerOptions;
  #history: HistoryRecord;

  constructor(options: SamplerOptions) {
    this.#options = options;
    const { state, bootId } = options;
    this.#history = usable(state.read(historyRecord), bootId);
  }

  async run(configText: () => string, signal: AbortSignal): Promise<void> {
    const { host, places, state, clock } = this.#options;
    const reader = new HostReader(host, lastReading(this.#history));
    while (!signal.aborted) {
      const reading = reader.read({ ...places, cgroupRoot: cgroupRootIn(configText()) });
      this.#history = addSample(this.#history, reading, { wallMs: clock.now(), monotonicMs: clock.monotonic() });
      state.write(historyRecord, this.#history);
      await clock.sleep(sampleMs, signal).catch(() => {});
    }
  }

  answer(request: ObserveRequest, pods: PodLists): Observed {
    return answer(request, { history: this.#history, bootedAt: this.#bootedAt(), ...pods });
  }

  #bootedAt(): number | undefined {
    const { host, clock } = this.#options;
    const upSeconds = Number.parseFloat(host.read('/proc/uptime') ?? '');
    return Number.isFinite(upSeconds) ? clock.now() - upSeconds * 1000 : undefined;
  }
}

/** A flag comes first, as it wins. */
export function cgroupRootIn(text: string): string {
  return /(?:^--cgroup-root[ =]|["']?\bcgroupRoot["']?\s*:\s*)["']?([^\s"',}]*)/m.exec(text)?.[1] ?? '';
}
