/**
 * Answers the observation request of an analysis: lists the pods when the window `after` begins and again when it ends, and then adds
 * the answer to the report. The progress is on disk, so that a restart of the agent in between changes nothing.
 *
 *   requested ──► waits for after.from ──► first list, recorded ──► waits for after.to ──► second list ──► answered, recorded
 */

import type { KubeObject } from '../../api/object.js';
import type { Observed, ObserveRequest } from '../../api/observe.js';
import type { Clock } from '../../clock.js';
import { isObject } from '../../json.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Reporter } from '../report/reporter.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';
import { type FirstList, firstList, windowsOf } from './answer.js';
import type { NodeSignals } from './sampler.js';

interface ObservationRecord {
  id: string;
  first?: FirstList;
  answer?: Observed;
}

const observationRecord = defineRecord('observation', isObservation, { durable: false });

export interface ObservationOptions {
  signals: NodeSignals;
  view(): { pods(signal: AbortSignal): Promise<KubeObject[]> } | undefined;
  state: NodeState;
  reporter: Pick<Reporter, 'update'>;
  clock: Clock;
  random: Random;
  log: Log;
}

/** After this time the controller no longer waits for the answer. */
const tooLateMs = 30 * 60_000;
const retryMs = 10_000;
/** The wall clock may be set while it is waited for. */
const longestWaitMs = 60_000;
/** Nodes of one wave answer at the same time. */
const jitterMs = 3000;

export class Observation {
  readonly #options: ObservationOptions;
  #request: ObserveRequest | undefined;
  #wake = new AbortController();

  constructor(options: ObservationOptions) {
    this.#options = options;
  }

  /** As the NodeConfig has it now. */
  requested(request: ObserveRequest | undefined): void {
    this.#request = request;
    this.#wake.abort();
  }

  /** Until the signal fires. Never rejects. `configText`: see NodeSignals. */
  async run(configText: () => string, signal: AbortSignal): Promise<void> {
    await Promise.all([this.#options.signals.run(configText, signal), this.#answerUntil(signal)]);
  }

  async #answerUntil(signal: AbortSignal): Promise<void> {
    const { state, reporter, clock } = this.#options;
    reporter.update({ observed: state.read(observationRecord)?.answer });
    signal.addEventListener('abort', () => this.#wake.abort(), { once: true });
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const waitMs = Math.min(await this.#step(signal), longestWaitMs);
      await clock.sleep(waitMs, this.#wake.signal).catch(() => {});
    }
  }

  /** One step towards the answer. Returns how long to wait for the next one. */
  async #step(signal: AbortSignal): Promise<number> {
    const { state, clock, random } = this.#options;
    const request = this.#request;
    if (request === undefined) return longestWaitMs;
    const windows = windowsOf(request);
    const { after } = windows;
    const now = clock.now();
    const { id } = request;
    const known = state.read(observationRecord);
    const { first, answer } = known?.id === id ? known : { first: undefined, answer: undefined };
    if (answer !== undefined || now > after.to + tooLateMs) return longestWaitMs;
    if (now < after.from) return after.from - now;
    if (first === undefined) {
      const pods = await this.#pods(signal);
      if (pods === undefined) return retryMs;
      state.write(observationRecord, { id, first: firstList(pods, windows, clock.now()) });
      return 0;
    }
    if (now < after.to) return after.to - now + random.number() * jitterMs;
    const second = await this.#pods(signal);
    if (second === undefined) return retryMs;
    this.#answered(request, first, second);
    return longestWaitMs;
  }

  #answered(request: ObserveRequest, first: FirstList, second: KubeObject[]): void {
    const { signals, state, reporter, log } = this.#options;
    const answer = signals.answer(request, { first, second });
    state.write(observationRecord, { id: request.id, answer });
    log.info('observed', { id: request.id, unfit: answer.unfit, signals: Object.keys(answer.signals).length });
    reporter.update({ observed: answer });
  }

  /** Undefined if the API does not answer now. */
  async #pods(signal: AbortSignal): Promise<KubeObject[] | undefined> {
    try {
      return await this.#options.view()?.pods(signal);
    } catch (error) {
      this.#options.log.debug('cannot list pods for an analysis, will retry', { error });
      return undefined;
    }
  }
}

function isObservation(value: unknown): value is ObservationRecord {
  const { id, first, answer } = (value ?? {}) as Partial<ObservationRecord>;
  const isFirst =
    first === undefined || (isObject(first.values) && Array.isArray(first.ready) && Number.isFinite(first.at));
  return typeof id === 'string' && isFirst && (answer === undefined || isObject(answer.signals));
}
