/** Long fields of log lines. */
import { expect, test } from 'vitest';
import { createLog } from './log.js';

test.each(['text', 'json'] as const)('a log line with fields of any length stays short (%s)', (format) => {
  const lines: string[] = [];
  const log = createLog({ format, write: (line) => lines.push(line) });
  const cause = new Error(`"${'x'.repeat(40_000)}" is not a valid quantity`);
  log.error('failed to validate config', { cause: new Error('read', { cause }), text: 'y'.repeat(40_000) });
  expect(lines).toHaveLength(1);
  expect(lines[0]!.length).toBeLessThan(9000);
  expect(lines[0]).toContain('read: ');
});
