/** Rows for tests: a node that is well, with changes. */
import type { Row } from '../../wire.js';

export const anyRow = (name: string, changes: Partial<Row> = {}): Row => ({
  name,
  state: 'active',
  assigned: 'a',
  active: 'a',
  lastKnownGood: 'a',
  set: '',
  wave: 0,
  taken: false,
  zone: '',
  kubelet: 'v1.32.0',
  ready: true,
  held: false,
  since: 0,
  trialEndsAt: 0,
  error: '',
  ...changes,
});
