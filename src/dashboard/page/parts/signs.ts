/** A sign for each state of a config, whose shape means the same as its colour. One SVG path in a box of 12, for badges and for cells. */
import type { Row } from '../../wire.js';

export type RowState = Row['state'];

export const signs: Record<RowState, string> = {
  active: 'M1 1h10v10H1z',
  local: 'M3.5 3.5h5v5h-5z',
  detached: 'M1 1h10v10H1zM2.6 2.6v6.8h6.8V2.6z',
  trial: 'M1 1h10L1 11z',
  waiting: 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10zM6 3a3 3 0 1 1 0 6a3 3 0 1 1 0-6z',
  rejected: 'M2.5 1L6 4.5 9.5 1 11 2.5 7.5 6 11 9.5 9.5 11 6 7.5 2.5 11 1 9.5 4.5 6 1 2.5z',
  'rolled back': 'M11 1v10L4 6zM1 1h2.2v10H1z',
  'no agent': 'M1 5h10v2H1z',
  silent: 'M1 2.5h10v2H1zM1 7.5h10v2H1z',
  outdated: 'M6 .5L11.5 6 6 11.5 .5 6zM6 3.3L3.3 6 6 8.7 8.7 6z',
};

/** In this order everywhere: what needs a person first. */
export const stateOrder: RowState[] = [
  'rejected',
  'rolled back',
  'silent',
  'no agent',
  'waiting',
  'outdated',
  'trial',
  'active',
  'local',
  'detached',
];

/** The name of its colour token: `--state-rolled-back`. */
export const stateToken = (state: string): string => `--state-${state.replaceAll(' ', '-')}`;
