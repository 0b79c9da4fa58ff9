/**
 * A process that is kept running:
 *
 * stopped ── start ──► running ── ends by itself ──► waiting (longer each time) ──► running
 *    ▲                    │                             │
 *    └────────────────── stop (SIGTERM, after the grace SIGKILL)
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { replaceFile } from '../../atomic-file.js';
import type { Clock } from '../../clock.js';
import { backoffMs } from '../../kube/backoff.js';
import { systemRandom } from '../../random.js';
import { turnLog } from './directory.js';

export interface ChildOptions {
  command: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Gets its output, both streams. A file, not a pipe: it must survive the end of this process. */
  log: string;
  /** Holds the pid while it runs. */
  pid: string;
  clock: Clock;
  /** It ended by itself, and is started again after a while. */
  onEnd(how: string): void;
}

const backoff = { initialMs: 500, maxMs: 30_000, jitter: 0.1 };
/** Longer than the 30 s that relet gives its kubelet. */
const graceMs = 40_000;
const wellMs = 60_000;

export class KeptProcess {
  readonly #options: ChildOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #kept: Promise<void> | undefined;

  constructor(options: ChildOptions) {
    this.#options = options;
  }

  start(): void {
    this.#kept ??= this.#keep();
  }

  /** Resolves when it is gone. Harmless when it never ran. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    const killing = setTimeout(() => this.#child?.kill('SIGKILL'), graceMs);
    await this.#kept;
    clearTimeout(killing);
  }

  async #keep(): Promise<void> {
    const { clock, onEnd, pid } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      const startedMs = clock.monotonic();
      const how = await this.#runOnce();
      rmSync(pid, { force: true });
      if (signal.aborted) return;
      failures = clock.monotonic() - startedMs > wellMs ? 1 : failures + 1;
      onEnd(how);
      await clock.sleep(backoffMs(failures, backoff, systemRandom), signal).catch(() => {});
    }
  }

  #runOnce(): Promise<string> {
    const { command, env, cwd, log, pid } = this.#options;
    turnLog(log);
    const out = openSync(log, 'a', 0o600);
    // A session of its own: Ctrl-C in a terminal reaches only us, and we end things in their order.
    const child = spawn(command[0]!, command.slice(1), { env, cwd, stdio: ['ignore', out, out], detached: true });
    closeSync(out);
    this.#child = child;
    if (child.pid !== undefined) replaceFile(pid, `${child.pid}\n`);
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `${signal}`));
    });
  }
}
