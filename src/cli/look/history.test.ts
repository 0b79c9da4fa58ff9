/** The history of a node on a terminal of 80 columns. */
import { expect, test } from 'vitest';
import type { ShownEntry } from '../../fleet/node-history.js';
import { tableLines } from '../terminal/output.js';
import { columns, shortSources } from './history.js';

const at = '2026-03-01T10:00:00Z';
const entry = (revision: number, from: string, to: string, result: ShownEntry['result']): ShownEntry => ({
  revision,
  at,
  by: 'set/gpu',
  verb: 'rollout',
  from: `relet-system/gpu-${from}/kubelet`,
  to: `relet-system/gpu-${to}/kubelet`,
  verified: false,
  ...(result && { result }),
});

test('what became of a change is never cut: the config before it gives way, then the reason', () => {
  const entries = [
    entry(2, '76bft47f59', 'cd5d9bk9tb', { outcome: 'rolled back', reason: 'CrashLoop' }),
    entry(1, '8gc7khb7kk', '76bft47f59', { outcome: 'active' }),
  ];
  const shown = entries.map((one) => ({ ...one, why: 'a long reason that somebody has written down' }));
  const lines = tableLines(columns(Date.parse(at) + 60_000, shortSources(entries)), shown, 80);
  expect(lines[0]).toMatch(/^REV +AGE +BY +VERB +TO +RESULT +WHY$/);
  expect(lines[1]).toMatch(/cd5d9bk9tb +rolled back +a long/);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
