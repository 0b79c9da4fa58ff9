/** The controller on a cluster of the suite, with its own service account. */
import type { KubeObject } from '../../src/api/object.js';
import { runController } from '../../src/controller/controller.js';
import type { GuardChoice } from '../../src/controller/guard-plan.js';
import { newControllerCounters } from '../../src/controller/metrics.js';
import { runWhileLeader } from '../../src/kube/leader.js';
import { createLog } from '../../src/log.js';
import { clientFor } from '../cluster-rig.js';
import type { Cluster } from './cluster.js';

export interface RunningController {
  stop(): Promise<void>;
  /** As kill -9: it does nothing more, and gives nothing back. */
  kill(): void;
}

interface ControllerStart {
  identity: string;
  guards: GuardChoice;
  lease?: string;
  durationMs?: number;
  renewMs?: number;
  retryMs?: number;
}

export async function controllerKubeconfig(cluster: Cluster): Promise<string> {
  const admin = cluster.client('admin');
  const place = { namespace: 'relet-system', name: 'relet-controller', subresource: 'token' };
  const accounts = { group: '', version: 'v1', resource: 'serviceaccounts' };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const answer = await admin.create<KubeObject>(accounts, place, request);
  return cluster.kubeconfig('relet-controller', (answer.status as { token: string }).token);
}

export async function startController(cluster: Cluster, options: ControllerStart): Promise<RunningController> {
  const { identity, guards, lease = 'relet-controller', ...times } = options;
  const stop = new AbortController();
  let isDead = false;
  const real = clientFor(await controllerKubeconfig(cluster));
  const client = new Proxy(real, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      return isDead && typeof value === 'function' ? () => Promise.reject(new Error('dead')) : value;
    },
  });
  const debug = process.env.DEBUG_CONTROLLER !== undefined;
  const log = createLog({
    format: 'text',
    level: 'debug',
    write: (line) => void (debug && process.stderr.write(`${identity} ${line}`)),
  });
  const common = { client, log };
  const running = runWhileLeader({
    ...common,
    ...times,
    namespace: 'relet-system',
    name: lease,
    identity,
    signal: stop.signal,
    lead: (signal, leading) =>
      runController(
        {
          client: leading,
          log,
          guards,
          settleMs: 0,
          counters: newControllerCounters(),
        },
        signal,
      ),
  });
  return {
    async stop() {
      stop.abort();
      await running;
      real.close();
    },
    kill() {
      isDead = true;
      stop.abort();
      real.close();
    },
  };
}
