/**
 * Checks how a replaced kubelet binary would interpret this node's config, before that kubelet is started:
 *
 *   v1.34.1 was healthy ── the binary is replaced ──► checked: would it reject the config, or interpret it differently?
 *           ▲                └── and put back ──► no upgrade
 *           └── v1.37.0 is healthy ◄── next start ◄──┘
 *
 * The check runs when the replaced binary is noticed, and again before each start until the new kubelet has been healthy. It only
 * reports: whether a config may be started is decided by validation, as always.
 */

import type { KubeObject } from '../api/object.js';
import type { Clock } from '../clock.js';
import { causesOf } from '../error-causes.js';
import { isObject } from '../json.js';
import type { Log } from '../log.js';
import type { Choice } from './choose.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { KubeletRun } from './kubelet-run.js';
import { type EventText, upgradeRisk } from './report/events.js';
import type { NodeReport } from './report/node-report.js';
import type { UpgradeReport } from './report/report.js';
import type { ReportFields } from './report/reporter.js';
import type { RunPart, StartContext } from './run-part.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';
import type { NodeView } from './trial/health.js';
import type { Validator } from './validate/validate.js';

/** The kubelet that was healthy last. */
export const ranRecord = defineRecord('ran', isRan);

export interface UpgradeRiskOptions {
  state: NodeState;
  driver: Pick<KubeletDriver, 'version' | 'fingerprint' | 'unit'>;
  validator: Validator;
  /** The config that would be started now. */
  choose(signal: AbortSignal): Promise<Choice>;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
  report: NodeReport;
  send(event: EventText): void;
  clock: Clock;
  log: Log;
}

/** Interval of the check, which only compares the file's fingerprint unless the binary was replaced. */
const lookEveryMs = 60_000;

export class UpgradeRisk implements RunPart {
  readonly #options: UpgradeRiskOptions;
  /** Version of the kubelet that is started. */
  #version: string | undefined;
  /** The binary that was checked last. */
  #binary = '';
  #report: UpgradeReport | undefined;

  constructor(options: UpgradeRiskOptions) {
    this.#options = options;
  }

  reported(): Pick<ReportFields, 'upgrade'> {
    return { upgrade: this.#report };
  }

  async beforeStart(choice: Choice, { signal, isRollback }: StartContext): Promise<Choice> {
    if (!isRollback) this.#version = await this.#compare(async () => choice, signal);
    return choice;
  }

  /** Watches the kubelet's binary. */
  async during(_run: KubeletRun, signal: AbortSignal): Promise<void> {
    const { clock, driver, choose } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(lookEveryMs, signal).catch(() => {});
      // A pod cannot read the file, so the check runs on the host.
      if (!signal.aborted && driver.unit !== undefined) await driver.version().catch(() => {});
      if (!signal.aborted && driver.fingerprint() !== this.#binary) await this.#compare(() => choose(signal), signal);
    }
  }

  /** The upgrade is over. A kubelet in its own unit may have started before the binary was replaced: its Node has the running version. */
  healthy(_run: KubeletRun, signal: AbortSignal): void {
    void this.#ran(signal);
  }

  async #ran(signal: AbortSignal): Promise<void> {
    const { state, driver, view } = this.#options;
    const isOurs = driver.unit === undefined;
    const version = isOurs
      ? this.#version
      : reportedVersion(
          await view()
            ?.node(signal)
            .catch(() => undefined),
        );
    if (version === undefined) return;
    if (state.read(ranRecord)?.version !== version) state.write(ranRecord, { version });
    if (this.#report?.to === version) this.#set(undefined);
  }

  /** Returns the version of the binary; undefined when it is missing or not a kubelet. */
  async #compare(choose: () => Promise<Choice>, signal: AbortSignal): Promise<string | undefined> {
    const { state, driver, log } = this.#options;
    this.#binary = driver.fingerprint();
    const to = await driver.version().catch(() => undefined);
    const from = state.read(ranRecord)?.version;
    try {
      const isUpgrade = from !== undefined && to !== undefined && from !== to;
      this.#set(isUpgrade ? await this.#assess({ from, to }, await choose()) : undefined);
    } catch (error) {
      if (!signal.aborted) log.warn('cannot check replaced kubelet', { from, to, error });
    }
    return to;
  }

  async #assess(versions: { from: string; to: string }, choice: Choice): Promise<UpgradeReport> {
    const { state, validator } = this.#options;
    const { source, document, error } = choice;
    if (error?.outcome === 'rejected') return { ...versions, risk: 'rejected', details: [causesOf(error)] };
    const checkpoint = source && state.checkpoints.load(source);
    const found = await validator.upgrade?.({ checkpoint, document, kubeletVersion: versions.to }, versions.from);
    return { ...versions, ...(found ?? { risk: 'none', details: [] }) };
  }

  #set(report: UpgradeReport | undefined): void {
    if (JSON.stringify(report) === JSON.stringify(this.#report)) return;
    this.#report = report;
    const { report: nodeReport, send, log } = this.#options;
    nodeReport.update();
    if (report === undefined) return;
    log.warn('kubelet replaced', { ...report, details: report.details.join('; ') });
    if (report.risk !== 'none') send(upgradeRisk(report));
  }
}

function reportedVersion(node: KubeObject | undefined): string | undefined {
  const { nodeInfo } = (node?.status ?? {}) as { nodeInfo?: { kubeletVersion?: unknown } };
  // Empty until a kubelet has registered itself.
  return typeof nodeInfo?.kubeletVersion === 'string' ? nodeInfo.kubeletVersion || undefined : undefined;
}

function isRan(value: unknown): value is { version: string } {
  return isObject(value) && typeof value.version === 'string';
}
