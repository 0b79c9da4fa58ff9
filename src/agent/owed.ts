/**
 * Owed actions: steps that a person still has to do on the host after a change that they accepted. Each is reported until it is done:
 *
 *   reboot      until the host was booted again since the change was noted
 *   state-file  until the kubelet is healthy with the config: it does not start while the old state file is there. Then the drain is
 *               left. If the node was drained before, StateFiles moves the file
 *   drain       until every pod that is neither static nor of a DaemonSet was created after the switch; or until a reboot, which
 *               creates the containers of all of them again
 *
 * Nothing is owed while another config runs than the assigned one: the change was rejected or rolled back. When the annotation is
 * removed (`relet dismiss`), the record is removed too.
 */
import { join } from 'node:path';
import { type ExactRef, isExactRef, sameConfig } from '../api/config-ref.js';
import { type Owed, type OwedAction, owedActions } from '../api/node-annotations.js';
import type { KubeObject } from '../api/object.js';
import { type Clock, rfc3339 } from '../clock.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import type { Choice } from './choose.js';
import type { RunCommand } from './drivers/command.js';
import type { KubeletRun } from './kubelet-run.js';
import type { NodeReport } from './report/node-report.js';
import type { ReportFields } from './report/reporter.js';
import type { RunPart } from './run-part.js';
import { defineRecord } from './state/json-record.js';
import { type NodeState, sourceOf } from './state/node-state.js';
import type { NodeView } from './trial/health.js';

export interface OwedRecord {
  /** When the change was accepted: it identifies the annotation. */
  at: string;
  needs: OwedAction[];
  /** Id of the boot in which it was noted. */
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
  report: NodeReport;
}

/** While a drain is owed, and at no other time. */
const checkEveryMs = 60_000;

export class OwedActions implements RunPart {
  readonly #options: OwedOptions;
  /** Ends the check of pods. */
  #checking: AbortController | undefined;

  constructor(options: OwedOptions) {
    this.#options = options;
  }

  /** Takes over what the reference has now. */
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

  /** Records that the kubelet is healthy with the assigned config, and starts or ends the check of its pods. */
  reported(run: KubeletRun | undefined): Pick<ReportFields, 'owed'> {
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
    return { owed: record && { at: record.at, isDone: left === undefined, ...(left && !hasFailed && { left }) } };
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
    const { state, view, clock, report } = this.#options;
    while (!signal.aborted) {
      const pods = await view()
        ?.pods(signal)
        .catch(() => undefined);
      if (signal.aborted) return;
      const record = state.read(owedRecord);
      if (pods && record?.switchedAt && !pods.some((pod) => isFromBefore(pod, record.switchedAt!))) {
        state.write(owedRecord, { ...record, drained: true });
        return report.update();
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

/** Each call can be repeated after a crash in the middle of it. `change` names the change that the files are set aside for. */
export interface StateFileHost {
  setAside(change: string): Promise<void>;
  putBack(change: string): Promise<void>;
  /** Deletes what was set aside. */
  clear(): Promise<void>;
}

interface StateFilesRecord {
  /** Time of the change: files are set aside once for each. */
  at: string;
  source: ExactRef;
  isAside: boolean;
}

export const stateFilesRecord = defineRecord('state-files', isStateFilesRecord);

interface StateFilesOptions {
  state: NodeState;
  stateFiles?: StateFileHost | undefined;
  log: Log;
}

/**
 * The state files of the kubelet's CPU and memory managers. A kubelet does not start with files that were written under other
 * policies. So for a change that needs it, on a node that was drained for this change, they are set aside before the start:
 *
 *   none ── start of the assigned config ──► aside ── trial passed ──► none (what was set aside is deleted)
 *                                              └── start of another config ──► none (put back, so that it starts as before)
 *
 * A kubelet in its own unit still runs when they are set aside. On an empty node it does not write them again; where it does, the
 * new config crashes, is rolled back, and finds its files again.
 */
export class StateFiles implements RunPart {
  readonly #options: StateFilesOptions;

  constructor(options: StateFilesOptions) {
    this.#options = options;
  }

  /** Never rejects: a kubelet that finds the wrong files exits, which ends its trial. */
  async beforeStart<C extends Pick<Choice, 'source' | 'rank'>>(choice: C): Promise<C> {
    await this.#move(choice);
    return choice;
  }

  async #move({ source, rank }: Pick<Choice, 'source' | 'rank'>): Promise<void> {
    const { state, stateFiles: host, log } = this.#options;
    if (host === undefined) return;
    const record = state.read(stateFilesRecord);
    const isOther = record !== undefined && !sameConfig(record.source, source, 'version');
    try {
      if (record?.isAside && isOther) {
        await host.putBack(changeOf(record.at));
        state.write(stateFilesRecord, { ...record, isAside: false });
        log.info('kubelet state files restored');
      }
      const owed = state.read(owedRecord);
      if (source === undefined || rank !== 'assigned' || !owed?.drained || !owed.needs.includes('state-file')) return;
      if (owed.switchedAt !== undefined || record?.at === owed.at) return;
      await host.setAside(changeOf(owed.at));
      state.write(stateFilesRecord, { at: owed.at, source, isAside: true });
      log.info('kubelet state files set aside after the drain');
    } catch (error) {
      log.error('cannot move kubelet state files', { error });
    }
  }

  /** The config keeps the files that it has written. */
  async kept({ choice: { source } }: { choice: Pick<Choice, 'source'> }): Promise<void> {
    const { state, stateFiles: host, log } = this.#options;
    const record = state.read(stateFilesRecord);
    if (host === undefined || !record?.isAside || !sameConfig(record.source, source, 'version')) return;
    try {
      state.write(stateFilesRecord, { ...record, isAside: false });
      await host.clear();
    } catch (error) {
      log.warn('cannot delete old kubelet state files', { error });
    }
  }
}

/** Used as the name of a directory. */
const changeOf = (at: string): string => at.replace(/[^0-9A-Za-z]/g, '').slice(0, 40);

const timeoutMs = 10_000;
const names = 'cpu_manager_state memory_manager_state';

/** `$1`: the kubelet's root directory, `$2`: where its files are set aside. A file that is not there leaves NAME.none. */
const setAsideScript = `mkdir -p "$2" && for f in ${names}; do
  if [ -e "$1/$f" ]; then mv -f "$1/$f" "$2/$f" || exit 1
  elif [ ! -e "$2/$f" ]; then : > "$2/$f.none" || exit 1
  fi
done`;
const putBackScript = `for f in ${names}; do
  if [ -e "$2/$f" ]; then mv -f "$2/$f" "$1/$f" || exit 1
  elif [ -e "$2/$f.none" ]; then rm -f "$1/$f" && rm -f "$2/$f.none" || exit 1
  fi
done
rm -rf "$2"; rmdir "\${2%/*}" || :`;

/** On the machine, by commands: the agent in a pod cannot write there, and systemd runs them for it. */
export function stateFilesOnHost({ run, rootDir }: { run: RunCommand; rootDir: string }): StateFileHost {
  // On the same file system, so that a file is moved whole.
  const aside = join(rootDir, 'relet-state-files');
  const shell = async (script: string, ...args: string[]) => {
    const { code, stderr } = await run(['/bin/sh', '-c', script, 'sh', ...args], timeoutMs);
    if (code !== 0) throw new Error(stderr.trim() || `exit code ${code}`);
  };
  return {
    setAside: (change) => shell(setAsideScript, rootDir, join(aside, change)),
    putBack: (change) => shell(putBackScript, rootDir, join(aside, change)),
    clear: () => shell('rm -rf "$1"', aside),
  };
}

function isStateFilesRecord(value: unknown): value is StateFilesRecord {
  return (
    isObject(value) && typeof value.at === 'string' && typeof value.isAside === 'boolean' && isExactRef(value.source)
  );
}
