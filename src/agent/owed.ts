/**
 * What a person still has to do on the host after a change that they accepted, until it is done:
 *
 *   reboot      until the host was booted again since the change was noted
 *   state-file  until the kubelet is healthy with the config: it does not start while the old file is there. Then the drain is left.
 *               Where the node was drained before, state-files.ts does it
 *   drain       until every pod that is neither static nor of a DaemonSet was created after the switch; or until a reboot, which
 *               creates the containers of all of them again
 *
 * Nothing is owed while another config runs than the assigned one: the change was rejected or rolled back. When the annotation is
 * removed (`relet dismiss`), the record goes too.
 */
import { type ExactRef, sameConfig } from '../api/config-ref.js';
import { type Owed, type OwedAction, owedActions } from '../api/node-annotations.js';
import type { KubeObject } from '../api/object.js';
import type { Clock } from '../clock.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import { rfc3339 } from '../time.js';
import type { KubeletRun } from './kubelet-run.js';
import type { OwedReport } from './report/report.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';
import { sourceOf } from './transitions.js';
import type { NodeView } from './trial/health.js';

export interface OwedRecord {
  /** When the change was accepted: it identifies the annotation. */
  at: string;
  needs: OwedAction[];
  /** Of the boot in which it was noted. */
  bootId: string;
  /** When the kubelet was first healthy with the assigned config. */
  switchedAt?: string;
  /** No pod of before the switch is left, or the node was drained before it. */
  drained?: true;
}

export const owedRecord = defineRecord('owed', isOwedRecord);

/** Pure. Undefined: all is done. */
export function leftToDo({ needs, bootId, switchedAt, drained }: OwedRecord, present: string): OwedAction | undefined {
  const isRebooted = bootId !== present;
  if (needs.includes('reboot') && !isRebooted) return 'reboot';
  if (needs.includes('state-file') && switchedAt === undefined) return 'state-file';
  return isRebooted || drained ? undefined : 'drain';
}

interface PodObject extends KubeObject {
  status?: { phase?: string };
}

/** Whether a drain would have removed the pod, had there been one after that time. Times have whole seconds. */
export function isFromBefore({ metadata, status }: PodObject, switchedAt: string): boolean {
  const isKept =
    metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined ||
    (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'DaemonSet');
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return !isKept && !hasEnded && Date.parse(metadata.creationTimestamp ?? '') < Date.parse(switchedAt);
}

export interface OwedOptions {
  state: NodeState;
  driver: { bootId(): string };
  clock: Clock;
  log: Log;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
  /** A drain was seen to be done. */
  onDone(): void;
}

/** While a drain is owed, and at no other time. */
const checkEveryMs = 60_000;

export class OwedActions {
  readonly #options: OwedOptions;
  /** Ends the check of pods. */
  #checking: AbortController | undefined;

  constructor(options: OwedOptions) {
    this.#options = options;
  }

  /** What the reference says now. */
  note(owed: Owed | undefined): void {
    const { state, driver, log } = this.#options;
    const record = state.read(owedRecord);
    if (record?.at === owed?.at) return;
    if (owed === undefined) state.remove(owedRecord);
    else {
      const { at, needs, drained } = owed;
      state.write(owedRecord, { at, needs, bootId: driver.bootId(), ...(drained && { drained }) });
    }
    log.info('actions owed', { needs: owed?.needs ?? [], fields: owed?.fields ?? [] });
  }

  /** For the report. Notes that the kubelet is healthy with the assigned config, and starts or ends the check of its pods. */
  update(run: KubeletRun | undefined): OwedReport | undefined {
    const { state, driver, clock } = this.#options;
    let record = state.read(owedRecord);
    const isAssigned = run !== undefined && isRunning(run, sourceOf(state.assigned()));
    if (record && isAssigned && run.healthy && record.switchedAt === undefined) {
      record = { ...record, switchedAt: rfc3339(clock.now()) };
      state.write(owedRecord, record);
    }
    const left = record && leftToDo(record, driver.bootId());
    if (left !== 'drain' || record?.switchedAt === undefined) this.stop();
    else this.#checking ??= this.#startChecking();
    const hasFailed = (run?.next ?? run?.choice)?.error !== undefined;
    return record && { at: record.at, isDone: left === undefined, ...(left && !hasFailed && { left }) };
  }

  stop(): void {
    this.#checking?.abort();
    this.#checking = undefined;
  }

  #startChecking(): AbortController {
    const checking = new AbortController();
    void this.#checkPods(checking.signal);
    return checking;
  }

  async #checkPods(signal: AbortSignal): Promise<void> {
    const { state, view, clock, onDone } = this.#options;
    while (!signal.aborted) {
      const pods = await view()
        ?.pods(signal)
        .catch(() => undefined);
      if (signal.aborted) return;
      const record = state.read(owedRecord);
      if (pods && record?.switchedAt && !pods.some((pod) => isFromBefore(pod, record.switchedAt!))) {
        state.write(owedRecord, { ...record, drained: true });
        return onDone();
      }
      await clock.sleep(checkEveryMs, signal).catch(() => {});
    }
  }
}

const isRunning = ({ choice, next }: KubeletRun, assigned: ExactRef | undefined): boolean =>
  choice.error === undefined && next === undefined && sameConfig(choice.source, assigned, 'version');

function isOwedRecord(value: unknown): value is OwedRecord {
  return (
    isObject(value) &&
    typeof value.at === 'string' &&
    typeof value.bootId === 'string' &&
    Array.isArray(value.needs) &&
    value.needs.every((one) => owedActions.includes(one))
  );
}
