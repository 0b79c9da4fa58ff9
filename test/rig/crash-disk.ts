/**
 * Every state that a power cut could leave on a disk: at each point between two operations, with any part of what was not yet synced
 * lost, and with unsynced data whole, cut in half or empty. The rules of loss are those of the simulated disk.
 */
import { type Files, realFiles } from '../../src/atomic-file.js';
import type { SimulatedDisk } from '../../src/rehearsal/simulation/disk.js';
import { type SeededRandom, seededRandom } from '../../src/rehearsal/simulation/seeded-random.js';

type Operation = { label: string; applyTo(disk: SimulatedDisk): void };

/** Beyond so many outcomes at one point, a number of them is drawn. */
const mostOutcomes = 400;

/** Records the operations that change the disk, and does them. */
export function recorded(disk: SimulatedDisk): { files: Files; operations: Operation[] } {
  const operations: Operation[] = [];
  const record = <Name extends 'makeDir' | 'create' | 'sync' | 'rename' | 'link' | 'remove'>(name: Name) => ({
    [name]: (...args: unknown[]) => {
      const applyTo = (on: SimulatedDisk) => (on[name] as (...args: unknown[]) => void)(...args);
      applyTo(disk);
      operations.push({ label: `${name} ${args[0]}`, applyTo });
    },
  });
  const changes = (['makeDir', 'create', 'sync', 'rename', 'link', 'remove'] as const).map(record);
  const reads = { read: disk.read.bind(disk), list: disk.list.bind(disk), stat: disk.stat.bind(disk) };
  return { files: Object.assign(reads, ...changes) as Files, operations };
}

export interface CrashState {
  /** For the message of a failing test. */
  name: string;
  /** The power went after the last operation. */
  complete: boolean;
  disk: SimulatedDisk;
}

/** Each state once, from before the first operation to after the last. */
export function* crashStates(before: SimulatedDisk, operations: Operation[]): Generator<CrashState> {
  const seen = new Set<string>();
  for (let done = 0; done <= operations.length; done++) {
    const complete = done === operations.length;
    const cut = (random: SeededRandom) => {
      const disk = before.copy();
      for (const { applyTo } of operations.slice(0, done)) applyTo(disk);
      disk.losePower(random);
      return disk;
    };
    let outcome = 0;
    for (const disk of everyOutcome(cut)) {
      const name = `after ${done} of ${operations.length} operations (${operations[done - 1]?.label}), outcome ${outcome++}`;
      const key = JSON.stringify([complete, ...entriesOf(disk)]);
      if (seen.has(key)) continue;
      seen.add(key);
      yield { name, complete, disk };
    }
  }
}

/** Calls with every sequence of decisions that it can take, up to a limit. */
function* everyOutcome<T>(result: (random: SeededRandom) => T): Generator<T> {
  const decisions: { taken: number; of: number }[] = [];
  for (let count = 0; count < mostOutcomes; count++) {
    let at = 0;
    const decide = (of: number): number => {
      decisions[at] ??= { taken: 0, of };
      return decisions[at++]!.taken;
    };
    const random = { chance: () => decide(2) === 1, pick: <I>(list: readonly I[]) => list[decide(list.length)]! };
    yield result(random as unknown as SeededRandom);
    while (decisions.length > 0 && decisions.at(-1)!.taken === decisions.at(-1)!.of - 1) decisions.pop();
    if (decisions.length === 0) return;
    decisions.at(-1)!.taken++;
  }
  for (let count = 0; count < mostOutcomes / 4; count++) yield result(seededRandom(`outcome ${count}`));
}

/** Path, mode and bytes of everything below a directory. */
export function entriesOf(disk: SimulatedDisk, dir = ''): [path: string, mode: number, bytes?: string][] {
  return disk.list(`${dir}/`).flatMap((name) => {
    const path = `${dir}/${name}`;
    const found = disk.stat(path)!;
    if (!found.isDirectory()) return [[path, found.mode, disk.read(path).toString('latin1')]];
    return [[path, found.mode], ...entriesOf(disk, path)];
  });
}

/** A disk in memory that is full from its n-th write on, until it is emptied. */
export function fullAfter(disk: SimulatedDisk, writes: number): Files {
  let left = writes;
  const take = <Name extends 'makeDir' | 'create'>(name: Name) =>
    ((...args: Parameters<Files[Name]>) => {
      disk.isFull = --left <= 0;
      return (disk[name] as (...args: unknown[]) => void)(...args);
    }) as Files[Name];
  return { ...recorded(disk).files, makeDir: take('makeDir'), create: take('create') };
}

const noSpace = () => {
  throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
};

/** Real files on a disk that is full. */
export const fullFiles: Files = { ...realFiles, sync() {}, makeDir: noSpace, create: noSpace };
