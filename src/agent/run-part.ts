/**
 * A part of the agent that acts when a kubelet starts, runs or exits, and may add to the report. All hooks are optional.
 * create-agent.ts makes the list of parts, and KubeletBoot calls them in its order:
 *
 *   beforeStart ─► started ─► healthy ─► kept         while it runs: during
 *                     └──────────┴─► crashed
 */
import type { Choice } from './choose.js';
import type { KubeletRun } from './kubelet-run.js';
import type { ReportSource } from './report/node-report.js';

export interface RunPart extends ReportSource {
  /** Returns the config to start: the choice, or another one. Undefined: it has to be chosen again. Never rejects. */
  beforeStart?(choice: Choice, context: StartContext): Promise<Choice | undefined>;
  /** The kubelet runs with this config. */
  started?(run: KubeletRun): void;
  /** Works beside the kubelet. Returns when the signal fires, as it does when the kubelet has exited. */
  during?(run: KubeletRun, signal: AbortSignal): Promise<void>;
  /** Healthy for the first time. The signal fires when the kubelet has exited. */
  healthy?(run: KubeletRun, signal: AbortSignal): void;
  /** The assigned config runs, is healthy and has passed its trial. Called again whenever that is found. Never rejects. */
  kept?(run: KubeletRun): Promise<void>;
  /** It crashed, and its trial continues. True: the config that failed before it may be tried again. */
  crashed?(run: KubeletRun): boolean;
  /** The agent ends. */
  stop?(): void;
}

export interface StartContext {
  signal: AbortSignal;
  /** A config has failed and may starve the host: no program is run for the fallback. */
  isRollback: boolean;
}
