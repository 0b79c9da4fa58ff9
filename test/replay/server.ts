/** A server for replays: in memory, over a real socket, with the identities of the recording. */
import { readTokenFile } from '../../src/lab/apiserver/access/token-file.js';
import { startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { createLog } from '../../src/log.js';
import type { ReplayTarget } from './session.js';

export interface ReplayServer extends ReplayTarget {
  kubeconfig: string;
  close(): Promise<void>;
}

const identities = 'admin-token,admin,1,system:masters\nnode-token,system:node:node-a,2,system:nodes\n';

export async function startReplayServer({ dynamicKubeletConfig = true } = {}): Promise<ReplayServer> {
  const log = createLog({ format: 'text', level: 'error', write: (line) => process.stderr.write(line) });
  const tokens = readTokenFile(identities, 'the identities of the recording');
  // No controller ran beside the recorded server.
  const server = await startApiServer({
    garbageCollection: false,
    dynamicKubeletConfig,
    anonymous: true,
    tokens: [tokens],
    log,
  });
  // The recorded server had forgotten its first revisions, so that "too old" could be asked for.
  await server.store.compact(server.store.revision - 1);
  return {
    port: server.port,
    ca: server.pki.ca,
    tokens: { admin: 'admin-token', node: 'node-token' },
    kubeconfig: server.kubeconfig,
    close: () => server.close(),
  };
}
