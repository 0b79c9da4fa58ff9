/** Lists seen as sets: sets.contains, sets.equivalent, sets.intersects. */
import type { Environment } from '@marcbachmann/cel-js';
import { isEqual } from '../equality.js';
import { spend } from '../meter.js';

class SetsNamespace {}

export function declareSets(environment: Environment): void {
  environment
    .registerType('sets.Namespace', SetsNamespace)
    .registerConstant('sets', 'sets.Namespace', new SetsNamespace())
    .registerFunction('sets.Namespace.contains(list<A>, list<A>): bool', (_sets: unknown, a: unknown[], b: unknown[]) =>
      contains(a, b),
    )
    .registerFunction(
      'sets.Namespace.equivalent(list<A>, list<A>): bool',
      (_sets: unknown, a: unknown[], b: unknown[]) => contains(a, b) && contains(b, a),
    )
    .registerFunction(
      'sets.Namespace.intersects(list<A>, list<A>): bool',
      (_sets: unknown, a: unknown[], b: unknown[]) => {
        spend(a.length * b.length);
        return a.some((item) => b.some((other) => isEqual(item, other)));
      },
    );
}

function contains(list: unknown[], wanted: unknown[]): boolean {
  spend(list.length * wanted.length);
  return wanted.every((item) => list.some((other) => isEqual(item, other)));
}
