/** A row of the fleet page for tests: a healthy node, with the given changes. */
import type { Row } from '../../src/dashboard/wire.js';

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
  silentSince: 0,
  error: '',
  ...changes,
});
