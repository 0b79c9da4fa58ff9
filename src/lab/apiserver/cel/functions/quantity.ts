/** quantity(): amounts such as 100m and 2Gi, compared and added as Kubernetes does. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { parseQuantity, quantityProblem } from '../../../../go/quantity.js';
import type { Comparable } from '../equality.js';

const one = 10n ** 9n;

export class QuantityValue implements Comparable {
  constructor(readonly nano: bigint) {}

  isSame(other: unknown): boolean {
    return other instanceof QuantityValue && other.nano === this.nano;
  }

  compareTo(other: QuantityValue): bigint {
    return this.nano < other.nano ? -1n : this.nano > other.nano ? 1n : 0n;
  }

  /** Undefined where it is not a whole number in the range of int. */
  asInteger(): bigint | undefined {
    const whole = this.nano / one;
    return whole * one === this.nano && BigInt.asIntN(64, whole) === whole ? whole : undefined;
  }
}

const type = 'kubernetes.Quantity';
type Q = QuantityValue;

export function declareQuantity(environment: Environment): void {
  environment
    .registerType(type, QuantityValue)
    .registerFunction('isQuantity(string): bool', (text: string) => quantityProblem(text) === undefined)
    .registerFunction(`quantity(string): ${type}`, read)
    .registerOperator(`${type} == ${type}`, (a: Q, b: Q) => a.isSame(b))
    .registerFunction(`${type}.sign(): int`, ({ nano }: Q) => (nano > 0n ? 1n : nano < 0n ? -1n : 0n))
    .registerFunction(`${type}.isInteger(): bool`, (q: Q) => q.asInteger() !== undefined)
    .registerFunction(`${type}.asInteger(): int`, (q: Q) => {
      const whole = q.asInteger();
      if (whole === undefined) throw new EvaluationError('cannot convert value to integer');
      return whole;
    })
    .registerFunction(`${type}.asApproximateFloat(): double`, (q: Q) => Number(q.nano) / 1e9)
    .registerFunction(`${type}.isGreaterThan(${type}): bool`, (a: Q, b: Q) => a.compareTo(b) > 0n)
    .registerFunction(`${type}.isLessThan(${type}): bool`, (a: Q, b: Q) => a.compareTo(b) < 0n)
    .registerFunction(`${type}.compareTo(${type}): int`, (a: Q, b: Q) => a.compareTo(b))
    .registerFunction(`${type}.add(${type}): ${type}`, (a: Q, b: Q) => new QuantityValue(a.nano + b.nano))
    .registerFunction(`${type}.add(int): ${type}`, (a: Q, b: bigint) => new QuantityValue(a.nano + b * one))
    .registerFunction(`${type}.sub(${type}): ${type}`, (a: Q, b: Q) => new QuantityValue(a.nano - b.nano))
    .registerFunction(`${type}.sub(int): ${type}`, (a: Q, b: bigint) => new QuantityValue(a.nano - b * one));
}

function read(text: string): QuantityValue {
  const problem = quantityProblem(text);
  const quantity = parseQuantity(text);
  if (problem !== undefined || quantity === undefined) throw new EvaluationError(problem ?? 'not a quantity');
  return new QuantityValue(quantity.nano);
}
