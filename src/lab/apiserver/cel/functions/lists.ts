/** Kubernetes' list functions: isSorted, sum, min, max, indexOf, lastIndexOf. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { isEqual, isLess } from '../equality.js';
import { ownName } from '../syntax-tree.js';

/** In the library's list of scalars; bytes compare like text. */
const ordered = [
  'int',
  'double',
  'string',
  'bool',
  'bytes',
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
] as const;

export function declareLists(environment: Environment): void {
  environment
    .registerFunction('list<dyn>.isSorted(): bool', (list: unknown[]) =>
      list.every((item, index) => index === 0 || !isLess(item, list[index - 1])),
    )
    .registerFunction(`list<A>.${ownName('indexOf')}(A): int`, (list: unknown[], wanted: unknown) =>
      BigInt(list.findIndex((item) => isEqual(item, wanted))),
    )
    .registerFunction(`list<A>.${ownName('lastIndexOf')}(A): int`, (list: unknown[], wanted: unknown) =>
      BigInt(list.findLastIndex((item) => isEqual(item, wanted))),
    )
    .registerFunction('list<int>.sum(): int', (list: bigint[]) => sum(list, 0n))
    .registerFunction('list<double>.sum(): double', (list: number[]) => list.reduce((total, item) => total + item, 0));
  for (const type of ordered)
    environment
      .registerFunction(`list<${type}>.min(): ${type}`, (list: unknown[]) =>
        pick('min', list, (item, best) => isLess(item, best)),
      )
      .registerFunction(`list<${type}>.max(): ${type}`, (list: unknown[]) =>
        pick('max', list, (item, best) => isLess(best, item)),
      );
}

function sum(list: bigint[], zero: bigint): bigint {
  const total = list.reduce((sofar, item) => sofar + item, zero);
  if (BigInt.asIntN(64, total) !== total) throw new EvaluationError('integer overflow');
  return total;
}

function pick(name: string, list: unknown[], isBetter: (item: unknown, best: unknown) => boolean): unknown {
  if (list.length === 0) throw new EvaluationError(`${name} called on empty list`);
  return list.reduce((best, item) => (isBetter(item, best) ? item : best));
}
