/** How a kubelet exited, in the words of systemd. */
import { describe, expect, test } from 'vitest';
import type { Exit } from '../driver.js';
import { exitOf, lastExit } from './exits.js';
import type { ExitRecord } from './own-files.js';
import type { UnitState } from './systemd.js';

const record: ExitRecord = {
  invocation: 'i',
  kind: 'trial',
  config: 'c',
  result: 'exit-code',
  code: 'exited',
  status: '1',
  at: 0,
  rolledBack: false,
};

describe('an exit', () => {
  test.each<[string, Partial<ExitRecord>, Partial<Exit>]>([
    ['has its code', {}, { code: 1, signal: null }],
    ['has its signal', { code: 'killed', status: 'SEGV' }, { code: null, signal: 'SIGSEGV' }],
    ['with a core dump too', { code: 'dumped', status: 'ABRT' }, { code: null, signal: 'SIGABRT' }],
    ['may be one too many', { rolledBack: true }, { rolledBack: true }],
    ['of a program that cannot be executed is an error', { status: '203' }, { error: expect.any(Error) }],
  ])('%s', (_name, change, expected) => {
    expect(exitOf({ ...record, ...change })).toMatchObject({ requested: false, ...expected });
  });

  test.each<[string, Partial<UnitState>, Partial<Exit>]>([
    ['its code', { execMainCode: 1, execMainStatus: 3 }, { code: 3, signal: null }],
    ['its signal', { execMainCode: 2, execMainStatus: 9 }, { code: null, signal: 'SIGKILL' }],
    [
      'nothing after the next start',
      { invocationId: 'j', execMainCode: 1, execMainStatus: 3 },
      { code: 0, signal: null },
    ],
  ])('that was not recorded: systemd knows %s', (_name, state, expected) => {
    const unit = { invocationId: 'i', execMainCode: 0, execMainStatus: 0, ...state } as UnitState;
    expect(lastExit(unit, 'i')).toEqual({ requested: false, ...expected });
  });
});
