/**
 * The cost limit of an evaluation. Rules come from authors of CRDs and policies and block all requests while they run:
 * loops and growing values are counted, and a deadline ends what is not counted (comparing large objects in a loop).
 */
import { EvaluationError } from '@marcbachmann/cel-js';
import type { Clock } from '../../../clock.js';

/** About the limit of Kubernetes for one request: a second. */
const requestUnits = 10_000_000;
const requestMs = 1000;

export class OutOfBudget extends EvaluationError {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** One for each request and each policy or custom resource; all of its evaluations share it. */
export class Meter {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #left: number;
  readonly #deadline: number;
  /** Once true, results are discarded: `||` or `all` may have swallowed the error. */
  isExhausted = false;

  constructor(clock: Pick<Clock, 'monotonic'>, units = requestUnits) {
    this.#clock = clock;
    this.#left = units;
    this.#deadline = clock.monotonic() + requestMs;
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left >= 0 && this.#clock.monotonic() <= this.#deadline) return;
    this.isExhausted = true;
    throw new OutOfBudget();
  }
}

let current: Meter | undefined;

/** Runs with this meter; evaluation is synchronous, so there is one at a time. A nested evaluation may have its own. */
export function metered<T>(meter: Meter, run: () => T): T {
  const outer = current;
  current = meter;
  try {
    const result = run();
    if (meter.isExhausted) throw new OutOfBudget();
    return result;
  } finally {
    current = outer;
  }
}

/** Called by instrumented expressions and by functions whose work grows with their input. */
export function spend(units: number): void {
  current?.spend(units);
}

/** The size of a value: the cost of building or scanning it. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length / 10;
  if (Array.isArray(value)) return value.length;
  return value instanceof Map || value instanceof Set ? value.size : 0;
}
