/** Runs a program for its output: the kubelet for its version or a dry run, systemctl, journalctl. */
import { spawn } from 'node:child_process';
import { childTokenVariable, type Environment, without } from './child.js';

export interface Output {
  /** Null when it was killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Killed by SIGKILL after `timeoutMs`; rejects when the program cannot be started. */
export type RunCommand = (command: string[], timeoutMs: number) => Promise<Output>;

/** Far more than any answer; only the end of a longer output is kept, where the error message is. */
const maxOutput = 1_000_000;

/** The programs get this environment without the service manager's variables: they must not notify it, nor be taken for the kubelet. */
export function commandRunner(env: Environment): RunCommand {
  const ownEnv = without(env, ['NOTIFY_SOCKET', 'WATCHDOG_PID', 'WATCHDOG_USEC', childTokenVariable]);
  return ([program, ...args], timeoutMs) =>
    new Promise((resolve, reject) => {
      const child = spawn(program!, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: ownEnv,
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
      });
      const text = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const)
        child[stream].setEncoding('utf8').on('data', (chunk: string) => {
          text[stream] = (text[stream] + chunk).slice(-maxOutput);
        });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, ...text }));
    });
}
