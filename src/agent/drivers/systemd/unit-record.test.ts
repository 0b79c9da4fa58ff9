/** Notices about the unit, from the state of the host. */
import { expect, test } from 'vitest';
import type { HostView } from './next-step.js';
import { noticesOf } from './unit-record.js';

const view = { unit: { loadState: 'loaded', unitFileState: 'enabled' }, own: {} } as HostView;
const record = { bootId: 'b', hasConfigDir: false, configs: {} };
const seen = { record, bootId: 'b', hasFallbackUnit: false, before: undefined, fellBack: undefined };

test('a limit that a rollback could not put back is named with its value, and one that it put back is not', () => {
  const limits = 'put-back system.slice/cpu.weight 1 100\nleft system.slice/memory.max 100663296 max';
  expect(noticesOf(view, { ...seen, limits })).toEqual([
    { reason: 'LimitsLeft', message: 'system.slice/memory.max is 100663296, and was max' },
  ]);
  expect(noticesOf(view, { ...seen, limits: '' })).toEqual([]);
});
