/** Runs the kubelet unchanged: `relet kubelet` without --dynamic-config-dir. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { printError } from '../terminal/terminal.js';
import { earlySignals } from './early-signals.js';

/** Becomes the kubelet where Node can (22.15 and later), else is its parent. The exit code is the kubelet's. */
export function runPlainKubelet([program, ...args]: string[]): Promise<number> {
  const execve = (process as { execve?(file: string, args: string[], env: NodeJS.ProcessEnv): never }).execve;
  if (execve !== undefined) {
    // Node says that this is experimental, on the standard error that is the kubelet's.
    process.removeAllListeners('warning');
    earlySignals.leave();
    execve.call(process, program!, [program!, ...args], process.env);
  }
  return new Promise((resolve) => {
    // WATCHDOG_PID names relet: a kubelet that finds another pid there ignores the watchdog, and systemd ends the unit.
    const { WATCHDOG_PID: _relet, ...env } = process.env;
    const child = spawn(program!, args, { stdio: 'inherit', detached: true, env });
    earlySignals.handOver((signal) => void child.kill(signal));
    child.once('error', (error) => {
      printError(`relet: cannot run ${program}: ${error.message}`);
      resolve(127);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
}
