/**
 * Wires an agent together: constructs its parts and passes each only what it uses. A feature that acts when the kubelet starts or
 * becomes healthy is one more RunPart (run-part.ts) in the list here.
 */
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import { Agent } from './agent.js';
import { type ChooseOptions, choose, type KubeletCommandLine } from './choose.js';
import { CurrentRun } from './current-run.js';
import type { Documents } from './documents.js';
import type { KubeletDriver } from './drivers/driver.js';
import { FailureRetry } from './failure-retry.js';
import type { HostFiles } from './host-files.js';
import { KubeletBoot, type KubeletBootOptions } from './kubelet-boot.js';
import { KubeletRun } from './kubelet-run.js';
import { LastKnownGood } from './last-known-good.js';
import { Observation } from './observe/observation.js';
import type { NodeSignals } from './observe/sampler.js';
import { OwedActions, type StateFileHost, StateFiles } from './owed.js';
import { changed, type EventText } from './report/events.js';
import { NodeReport } from './report/node-report.js';
import type { Reporter } from './report/reporter.js';
import { Rollback } from './rollback.js';
import type { RunPart } from './run-part.js';
import { Signing } from './signing.js';
import type { NodeState } from './state/node-state.js';
import { ApiSide, type Connected } from './sync/api-side.js';
import { ChangePace, type RestartLimit } from './sync/change-pace.js';
import type { HealthzProbe } from './trial/health.js';
import type { TrialLimits } from './trial/trial.js';
import type { unitParts } from './unit-flow.js';
import { UpgradeRisk } from './upgrade-risk.js';
import { withSignatures } from './validate/signatures.js';
import type { TrustSource } from './validate/trust-file.js';
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
  /** For a driver with a unit: other nodes do not load this code. */
  unitParts?: typeof unitParts;
  /** Undefined if the kubelet has none, as in simulations. */
  stateFiles?: StateFileHost;
  /** Undefined if no config needs a signature, as in rehearsals. */
  trustFile?: TrustSource;
  probe: HealthzProbe;
  /** Undefined: analyses get no answer from this node. */
  signals?: NodeSignals | undefined;
  reporter: Reporter;
  /** Waits for a kubeconfig, for as long as it takes; rejects when the signal fires. */
  connect(signal: AbortSignal): Promise<Connected>;
  /** True when the node's client certificate is past its end. */
  certificateExpired(): Promise<boolean>;
  clock: Clock;
  random: Random;
  log: Log;
}

export function createAgent(options: AgentOptions): Agent {
  const { options: flow, state, documents, commandLine, driver, hostFiles, stateFiles, trustFile } = options;
  const { probe, reporter, connect, certificateExpired, clock, random, log } = options;
  const { unit } = driver;
  const limits = flow.trial;

  const api = new ApiSide({
    connect,
    onObserve: (request) => observation?.requested(request),
    reporter,
    clock,
    random,
    log,
  });
  const view = () => api.view;
  const { signals } = options;
  const observation = signals && new Observation({ signals, view, state, reporter, clock, random, log });
  const send = (event: EventText) => api.send(event);

  // The records, the kubelet, time and the log: nearly every part uses them.
  const node = { state, driver, clock, log };
  const validator = trustFile ? withSignatures(options.validator, { ...node, trustFile }) : options.validator;
  const choosing = { ...node, documents, validator, commandLine, hostFiles };
  const chooseNow = (signal: AbortSignal, how?: ChooseOptions) => choose(choosing, signal, how);
  const current = new CurrentRun({
    ...node,
    choose: chooseNow,
    hostFiles,
    view,
    onMoved(run) {
      retry.choiceChanged();
      lastKnownGood.update(run);
    },
    onRestart(run, next, { isReported }) {
      report.update(run);
      if (!isReported) send(changed(next.source));
    },
  });

  const report = new NodeReport({ ...node, reporter, limits, documents, commandLine, run: () => current.run });

  const retry = new FailureRetry({ ...node, hostFiles, limits, current });
  const rollback = new Rollback({ ...node, hostFiles, documents, report, send });
  const upgrade = new UpgradeRisk({ ...node, validator, choose: chooseNow, view, report, send });
  const owed = new OwedActions({ ...node, view, report });
  const ofUnit = unit && { ...node, unit, documents, choose: chooseNow, current, report, random };
  const { unitFlow, detach } = (ofUnit && options.unitParts!({ ...ofUnit, isOnlyTask: flow.detach })) ?? {};
  const signing = trustFile && new Signing({ ...node, trustFile, current, report, send });
  const ownStateFiles = new StateFiles({ state, stateFiles, log });
  const all = [rollback, upgrade, unitFlow, ownStateFiles, retry, owed, signing, detach];
  const parts: RunPart[] = all.filter((part) => part !== undefined);
  report.add(parts);
  const lastKnownGood = new LastKnownGood({ ...node, parts, report });
  const createRun: KubeletBootOptions['createRun'] = (choice, baseline, listener) =>
    new KubeletRun({ ...node, choice, baseline, limits, probe, view, certificateExpired, listener });

  return new Agent({
    ...node,
    options: flow,
    api,
    observe: (signal) => observation?.run(() => configText(current, documents, commandLine), signal),
    parts,
    choose: chooseNow,
    boot: new KubeletBoot({
      ...node,
      parts,
      current,
      lastKnownGood,
      rollback,
      report,
      createRun,
      send,
      settleMs: flow.settleMs,
    }),
    current,
    lastKnownGood,
    pace: new ChangePace({ options: flow, state, reporter, clock, random, log }),
    owed,
    unit: unitFlow,
    detach,
    report,
    random,
  });
}

/** Flags of the kubelet, then the config that it runs with. */
function configText(
  { run }: Pick<CurrentRun, 'run'>,
  documents: Pick<Documents, 'localFiles'>,
  { args }: KubeletCommandLine,
): string {
  const local = () => documents.localFiles().map(({ data }) => Buffer.from(data).toString('utf8'));
  return [...args(undefined), ...(run?.choice.document.text ? [run.choice.document.text] : local())].join('\n');
}
