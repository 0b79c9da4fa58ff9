/** Parts of an agent: the cli makes them for the real machine, tests and simulations for a fake one. */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import type { KubeletCommandLine } from './choose.js';
import type { Documents } from './documents.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { StateFileHost } from './owed.js';
import type { Counters } from './report/metrics.js';
import type { Reporter } from './report/reporter.js';
import type { NodeState } from './state/node-state.js';
import type { Connected } from './sync/api-side.js';
import type { RestartLimit } from './sync/change-pace.js';
import type { HealthzProbe } from './trial/health.js';
import type { TrialLimits } from './trial/trial.js';
import type { Validator } from './validate/validate.js';

export interface FlowOptions {
  trial: TrialLimits;
  /** Effect of a changed config: relet restarts the kubelet, or exits 0 for a service manager to do it. Default restart. */
  onChange: 'restart' | 'exit';
  /** Edits of a shared ConfigMap are followed within this time, each node at a random moment. Default 0: at once. */
  inPlaceJitterMs: number;
  /** How often sync may restart the kubelet with newly assigned configs. */
  restartLimit: RestartLimit;
  /** relet is only to leave the host: it ends when that is done, with 1 where the local config cannot run. Default false. */
  detach?: boolean;
  /** False: it has no lease, as in a rehearsal, which does not run agents that have nothing to do. Default true. */
  renewsLease?: boolean;
  /** After an exit, how long to wait until it can be seen whether the whole machine shuts down. Default 500 ms. */
  settleMs: number;
  /** Between a crash of the kubelet and its next start; doubles with every crash, up to a minute. Default 1 s. */
  crashDelayMs: number;
}

export interface AgentOptions {
  options: FlowOptions;
  state: NodeState;
  documents: Documents;
  validator: Validator;
  commandLine: KubeletCommandLine;
  driver: KubeletDriver;
  hostFiles: HostFiles;
  /** Undefined where the kubelet has none, as in simulations. */
  stateFiles?: StateFileHost;
  probe: HealthzProbe;
  reporter: Reporter;
  counters: Counters;
  /** Waits for a kubeconfig, for as long as it takes; rejects when the signal fires. */
  connect(signal: AbortSignal): Promise<Connected>;
  /** True when the node's client certificate is past its end. */
  certificateExpired(): Promise<boolean>;
  clock: Clock;
  random: Random;
  log: Log;
}
