/** Prints how much of each parser the tests of this file have run, as V8 counts it: `npm run fuzz -- --coverage`. */
import { type Profiler, Session } from 'node:inspector/promises';
import { afterAll, beforeAll } from 'vitest';

const parsers =
  /\/src\/((go|config\/signing|go\/yaml)\/[\w-]+|config\/(decode|document|identity|merge|overlay)[\w-]*|kube\/(watch|kubeconfig|exec-plugin)|agent\/drivers\/systemd\/(dbus-message|unit-text)|cli\/node\/unit-environment|controller\/prometheus)\.ts$/;

export function printCoverage(): void {
  const session = new Session();
  beforeAll(async () => {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  });
  afterAll(async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const rows = result
      .filter(({ url }) => parsers.test(url))
      .map(({ url, functions }) => {
        // The module itself, which contains all functions, ran before V8 counted.
        const counted = functions.filter((one) => functions.some((other) => !contains(one, other)));
        const ranges = counted.flatMap((one) => one.ranges).sort((a, b) => lengthOf(b) - lengthOf(a));
        // An inner range counts for its part of the outer one; 0 is outside of all functions.
        const marks = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)));
        for (const { count, startOffset, endOffset } of ranges) marks.fill(count > 0 ? 2 : 1, startOffset, endOffset);
        const run = marks.filter((mark) => mark === 2).length;
        const bytes = marks.filter((mark) => mark > 0).length;
        return { name: parsers.exec(url)![1]!, run, bytes };
      });
    rows.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    const all = { name: 'all', run: sum(rows.map(({ run }) => run)), bytes: sum(rows.map(({ bytes }) => bytes)) };
    const lines = [...rows, all].map(
      ({ name, run, bytes }) => `${((100 * run) / Math.max(1, bytes)).toFixed(1)} % ${name}`,
    );
    console.info(`run, by bytes of functions:\n${lines.join('\n')}`);
    session.disconnect();
  });
}

type Covered = Profiler.FunctionCoverage;
const contains = ({ ranges: [outer] }: Covered, { ranges: [inner] }: Covered) =>
  outer!.startOffset <= inner!.startOffset && inner!.endOffset <= outer!.endOffset;
const lengthOf = ({ startOffset, endOffset }: { startOffset: number; endOffset: number }) => endOffset - startOffset;
const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
