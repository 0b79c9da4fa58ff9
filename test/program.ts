/**
 * Programs that tests start; only this file calls spawn(). A program may exit before a test types into it, reads from it or
 * signals it, so typing into a program that has ended does nothing, and waiting for its output fails with what it printed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { executable, type Outcome } from './run-relet.js';

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string | undefined;
  uid?: number;
  gid?: number;
  /** In a process group of its own: `kill` and `end` reach its children too. */
  isGroup?: boolean;
  /** Text that is typed at once, followed by the end of input; or a terminal that a test types into later. Default: no input. */
  input?: string | 'typed later';
  /** A file that receives the output instead of `output`. */
  logFile?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const graceMs = 20_000;

export class Program {
  stdout = '';
  stderr = '';
  /** stdout and stderr in the order in which they arrived. */
  output = '';
  exit: Exit | undefined;
  /** Resolves when the process has exited. Its children may still have its output open. */
  readonly exited: Promise<Exit>;
  /** Resolves when the process has exited and its output is complete. */
  readonly ended: Promise<Outcome>;
  readonly #child: ChildProcess;
  readonly #isGroup: boolean;
  #hasEnded = false;
  readonly #listeners = new Set<() => void>();

  constructor(file: string, args: string[], options: ProgramOptions = {}) {
    const { env, cwd, uid, gid, isGroup = false, input, logFile } = options;
    const log = logFile === undefined ? 'pipe' : openSync(logFile, 'a');
    const stdin = input === undefined ? 'ignore' : 'pipe';
    // Also what a program leaves that is killed is removed with the directory of the run.
    const place = env && { TMPDIR: process.env.TMPDIR, ...env };
    const child = spawn(file, args, { env: place, cwd, uid, gid, detached: isGroup, stdio: [stdin, log, log] });
    if (typeof log === 'number') closeSync(log);
    this.#child = child;
    this.#isGroup = isGroup;
    this.exited = new Promise((resolve) => {
      const exits = (exit: Exit) => {
        this.exit ??= exit;
        resolve(this.exit);
      };
      child.on('exit', (code, signal) => exits({ code, signal }));
      child.on('error', (error) => {
        // A program that cannot be started has no exit.
        if (child.pid === undefined) exits({ code: null, signal: null });
        this.#receive('stderr', `${error.message}\n`);
      });
    });
    this.ended = new Promise((resolve) => {
      child.on('close', (status) => {
        this.#hasEnded = true;
        resolve({ status, stdout: this.stdout, stderr: this.stderr });
        this.#notify();
      });
    });
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (text: string) => this.#receive(name, text));
    child.stdin?.on('error', ignoreBrokenPipe);
    if (input !== undefined && input !== 'typed later') child.stdin!.end(input);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`it was not started: ${this.stderr}`);
    return this.#child.pid;
  }

  type(text: string): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(text);
  }

  /** Does nothing when it has exited. */
  kill(signal: NodeJS.Signals): void {
    if (this.exit !== undefined) return;
    if (this.#isGroup) sendSignal(-this.pid, signal);
    else this.#child.kill(signal);
  }

  /** Ends it with SIGTERM, and with SIGKILL when it does not exit. */
  async end(): Promise<void> {
    this.kill('SIGTERM');
    const hard = setTimeout(() => this.kill('SIGKILL'), graceMs);
    await this.exited;
    clearTimeout(hard);
  }

  /** Calls back at every output and at its end; returns how to stop that. */
  onOutput(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves when the output has this. Rejects when it ends without it. */
  async printed(wanted: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = wanted.exec(this.output);
      if (found) return found;
      if (this.#hasEnded) throw new Error(`it ended without printing ${wanted}:\n${this.output}`);
      await new Promise<void>((resolve) => {
        const stop = this.onOutput(() => {
          stop();
          resolve();
        });
      });
    }
  }

  #receive(name: 'stdout' | 'stderr', text: string): void {
    this[name] += text;
    this.output += text;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Signals a process, or with a negative number a group, that may have ended already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
}

export const startRelet = (args: string[], options?: ProgramOptions, relet = executable): Program =>
  new Program(process.execPath, [relet, ...args], options);

/** Runs relet to its end without blocking this process, which may be the server that it talks to. */
export const runRelet = (args: string[], options?: ProgramOptions, relet = executable): Promise<Outcome> =>
  startRelet(args, options, relet).ended;
