/** An identity source of one connection that never changes, for tests that need no kubeconfig. */
import type { Clock } from '../src/clock.js';
import { systemFileReader } from '../src/kube/cached-file.js';
import type { Connection } from '../src/kube/connection.js';
import { createIdentity } from '../src/kube/identity.js';
import type { IdentitySource } from '../src/kube/identity-source.js';

export function connectionSource({ connection, clock }: { connection: Connection; clock: Clock }): IdentitySource {
  const identity = createIdentity({ connection, env: {}, files: systemFileReader, clock });
  return () => identity;
}
