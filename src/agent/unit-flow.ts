/**
 * Additional steps for a kubelet in its own systemd unit, which others start and stop too: confirms to the host which config is healthy
 * and which is kept, respects that somebody removed relet's drop-in, and stages an overlay that was merged again, so that the next
 * start, by anyone, is its trial. Not used if relet is the parent of the kubelet.
 *
 *   the local file or the kubelet changed under an overlay ─► merged again, validated ─► staged; the kubelet keeps running
 *                                                                     └─ rejected ─► the next start runs the kept config
 *   a reboot lost what was staged ─► one restart, at a random moment
 */
import { formatRef, sameConfig } from '../api/config-ref.js';
import type { Clock } from '../clock.js';
import { causesOf } from '../error-causes.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import type { Choice, ChooseOptions } from './choose.js';
import type { CurrentRun } from './current-run.js';
import { Detach, type DetachOptions } from './detach.js';
import type { Documents } from './documents.js';
import type { KubeletDriver, KubeletUnit, Notice, StartedConfig } from './drivers/driver.js';
import type { KubeletRun } from './kubelet-run.js';
import type { NodeReport } from './report/node-report.js';
import type { ReportFields } from './report/reporter.js';
import type { RunPart, StartContext } from './run-part.js';
import { sha256 } from './state/checkpoints.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';
import { setResult } from './trial/trial.js';

export interface UnitFlowOptions {
  state: NodeState;
  unit: KubeletUnit;
  driver: Pick<KubeletDriver, 'bootId' | 'fingerprint'>;
  documents: Documents;
  clock: Clock;
  random: Random;
  log: Log;
  choose(signal: AbortSignal, options?: ChooseOptions): Promise<Choice>;
  report: NodeReport;
  current: Pick<CurrentRun, 'restart'>;
}

/** Parts of an agent beside a kubelet in a unit of its own. */
export const unitParts = (options: UnitFlowOptions & DetachOptions) => ({
  unitFlow: new UnitFlow(options),
  detach: new Detach(options),
});

/** The merged document that the next start is a trial of, and in which boot that was put on the host. */
const stagedRecord = defineRecord('staged', isStaged);

const lookEveryMs = 60_000;
const retryMs = 1000;
/** A fleet that reboots at once does not restart all its kubelets at once. */
const restartWithinMs = 300_000;

export class UnitFlow implements RunPart {
  readonly #options: UnitFlowOptions;
  readonly #unit: KubeletUnit;
  #stale: Notice | undefined;
  /** Inputs of the merged document, when they were compared last. */
  #ingredients = '';
  /** Staged before the last reboot. */
  #lost: Choice | undefined;
  /** Inputs of the one restart that this causes. */
  #restarted: string | undefined;

  constructor(options: UnitFlowOptions) {
    this.#options = options;
    this.#unit = options.unit;
    this.#unit.onChange(() => options.report.update());
  }

  notices(): Notice[] {
    const found = this.#unit.notices();
    return this.#stale === undefined ? found : [...found, this.#stale];
  }

  reported(run: KubeletRun | undefined): Pick<ReportFields, 'nextStart'> {
    const next = this.#nextStart(run);
    return { nextStart: next && formatRef(next.source, 'short') };
  }

  /** Undefined if it is what runs, or is not known. */
  #nextStart(run: KubeletRun | undefined): StartedConfig | undefined {
    const next = this.#unit.nextStart();
    return next && run && !sameConfig(next.source, run.choice.source, 'document') ? next : undefined;
  }

  /** The config to run: the choice, or the same one as it was merged when the running kubelet was started. Undefined: choose again. */
  async beforeStart(choice: Choice, { signal }: StartContext): Promise<Choice | undefined> {
    const { log } = this.#options;
    this.#lost = undefined;
    try {
      const running = await this.#unit.running();
      if (this.#isRemoved(choice, running)) return undefined;
      return (await this.#mergedBefore(choice, running, signal)) ?? choice;
    } catch (error) {
      log.warn('cannot read kubelet unit', { error });
      return choice;
    }
  }

  /** Somebody removed relet's drop-in: the config counts as failed until another assignment or a retry. */
  #isRemoved({ source, key }: Choice, running: StartedConfig | undefined): boolean {
    const { state, clock, log } = this.#options;
    const removed = this.#unit.notices().find(({ reason }) => reason === 'DropInRemoved');
    if (removed === undefined || source === undefined || sameConfig(running?.source, source, 'document')) return false;
    log.warn('drop-in removed by somebody else, config not started again', { cause: removed.message });
    const at = new Date(clock.now()).toISOString();
    setResult(state, key, { kind: 'failed', reason: removed.reason, cause: removed.message, at });
    return true;
  }

  /** Called for another assignment, or a request on the host: relet's drop-in may be written again. */
  async forgetRemoval(): Promise<void> {
    if (this.notices().some(({ reason }) => reason === 'DropInRemoved')) await this.#unit.forgetRemoval();
  }

  async #mergedBefore(
    choice: Choice,
    running: StartedConfig | undefined,
    signal: AbortSignal,
  ): Promise<Choice | undefined> {
    const { state, driver, choose } = this.#options;
    const staged = state.read(stagedRecord);
    if (!isOtherMerge(choice, running) || this.#restarted === choice.document.digest) {
      this.#nothingStaged();
      return undefined;
    }
    const before = await choose(signal, { assigned: { source: running!.source } });
    if (!sameConfig(before.source, running!.source, 'document')) return undefined;
    if (staged?.digest !== choice.document.digest || staged.bootId === driver.bootId()) await this.#stage(choice);
    else {
      this.#lost = choice;
      this.#setStale('and the kubelet is restarted once within five minutes, since a reboot lost what was staged');
    }
    return before;
  }

  /** Merges again when an ingredient has changed. */
  async during(run: KubeletRun, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    if (this.#lost === undefined) this.#ingredients = this.#presentIngredients();
    else {
      // Without a restart, it is compared again at the next check.
      this.#ingredients = '';
      await this.#restartLost(run, signal).catch((error) => log.warn('staged config not started', { error }));
    }
    while (!signal.aborted) {
      await clock.sleep(lookEveryMs, signal).catch(() => {});
      if (signal.aborted || this.#ingredients === this.#presentIngredients()) continue;
      await this.#mergeAgain(run, signal).catch((error) => log.warn('cannot merge config again', { error }));
    }
  }

  async #restartLost(run: KubeletRun, signal: AbortSignal): Promise<void> {
    const { clock, random, choose, current, log } = this.#options;
    await clock.sleep(random.number() * restartWithinMs, signal).catch(() => {});
    if (signal.aborted) return;
    const next = await choose(signal);
    if (signal.aborted) return;
    // Another config may be assigned by now, or what changed was changed back.
    if (!isOtherMerge(next, run.choice)) return this.#nothingStaged();
    log.info('staged config lost by a reboot, restarting the kubelet with it');
    this.#restarted = next.document.digest;
    await current.restart(run, next);
  }

  async #mergeAgain(run: KubeletRun, signal: AbortSignal): Promise<void> {
    const present = this.#presentIngredients();
    const { choice } = run;
    if (choice.rank !== 'assigned' || choice.source?.mergedDigest === undefined) {
      this.#ingredients = present;
      return;
    }
    const next = await this.#options.choose(signal);
    if (signal.aborted) return;
    if (next.error !== undefined) this.#setStale(`and is rejected as it would be merged now: ${causesOf(next.error)}`);
    else if (isOtherMerge(next, choice)) await this.#stage(next);
    else if (this.#nextStart(run) !== undefined) {
      await this.#unit.stage({ source: choice.source, file: choice.document.file });
      this.#nothingStaged();
    }
    this.#ingredients = present;
  }

  async #stage(next: Choice): Promise<void> {
    const { state, driver } = this.#options;
    const { source, document } = next;
    await this.#unit.stage({ source, file: document.file });
    state.write(stagedRecord, { digest: document.digest, bootId: driver.bootId() });
    this.#setStale('and is used as merged now from the next start of the kubelet on');
  }

  /** Nothing is staged any more: a change was taken back, or runs. */
  #nothingStaged(): void {
    const { state, report } = this.#options;
    state.remove(stagedRecord);
    this.#stale = undefined;
    report.update();
  }

  #setStale(what: string): void {
    const why = 'the local config or the kubelet changed since the overlay was merged';
    this.#stale = { reason: 'StaleMerge', message: `${why}: the config runs as merged before, ${what}` };
    this.#options.report.update();
  }

  #presentIngredients(): string {
    const { documents, driver } = this.#options;
    const files = documents.localFiles().map(({ path, data }) => `${path} ${sha256(data)}`);
    return [driver.fingerprint(), ...files].join('\n');
  }

  healthy(_run: KubeletRun, signal: AbortSignal): void {
    void this.#confirmHealthy(signal);
  }

  /** The deadline on the host ends; tried until that is done. */
  async #confirmHealthy(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted)
      try {
        return await this.#unit.confirmHealthy();
      } catch (error) {
        log.warn('health of the kubelet cannot be confirmed on the host', { error });
        await clock.sleep(retryMs, signal).catch(() => {});
      }
  }

  /** Every boot starts what runs from now on. */
  async kept({ choice: { source, document } }: KubeletRun): Promise<void> {
    await this.#unit.keep({ source, file: document.file });
  }
}

/** The same config, merged otherwise. */
function isOtherMerge(choice: Choice, other: Pick<StartedConfig, 'source'> | undefined): boolean {
  const { rank, source } = choice;
  if (rank !== 'assigned' || source?.mergedDigest === undefined || other?.source?.mergedDigest === undefined)
    return false;
  return sameConfig(source, other.source, 'version') && source.mergedDigest !== other.source.mergedDigest;
}

function isStaged(value: unknown): value is { digest: string; bootId: string } {
  return isObject(value) && typeof value.digest === 'string' && typeof value.bootId === 'string';
}
