/** An identity source of one connection that never changes, for tests that need no kubeconfig. */
import type { Clock } from '../src/clock.js';
import type { Connection } from '../src/kube/connection.js';
import { createIdentity, type IdentitySource } from '../src/kube/identity.js';
import { systemFileReader } from '../src/kube/kubeconfig.js';

export function connectionSource({ connection, clock }: { connection: Connection; clock: Clock }): IdentitySource {
  const identity = createIdentity({ connection, env: {}, files: systemFileReader, clock });
  return () => identity;
}
