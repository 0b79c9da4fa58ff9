/** Prints how much of each parser the tests of this file have run, as V8 counts it: `npm run fuzz -- --coverage`. */
import { Session } from 'node:inspector/promises';
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
        const ranges = functions.flatMap((one) => one.ranges).sort((a, b) => lengthOf(b) - lengthOf(a));
        // An inner range counts for its part of the outer one.
        const isRun = new Uint8Array(Math.max(...ranges.map(({ endOffset }) => endOffset)));
        for (const { count, startOffset, endOffset } of ranges) isRun.fill(count > 0 ? 1 : 0, startOffset, endOffset);
        const run = isRun.reduce((sum, one) => sum + one, 0);
        return { name: parsers.exec(url)![1]!, run, bytes: isRun.length };
      });
    rows.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    const all = { name: 'all', run: sum(rows.map(({ run }) => run)), bytes: sum(rows.map(({ bytes }) => bytes)) };
    const lines = [...rows, all].map(({ name, run, bytes }) => `${((100 * run) / bytes).toFixed(1)} % ${name}`);
    console.info(`covered, in bytes:\n${lines.join('\n')}`);
    session.disconnect();
  });
}

const lengthOf = ({ startOffset, endOffset }: { startOffset: number; endOffset: number }) => endOffset - startOffset;
const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
