/** Why a kubelet exited, and whether its config is to blame. Pure. */
import type { ExitStatus } from '../drivers/driver.js';

export interface Circumstances {
  /** relet itself was asked to stop, or the machine goes down. */
  stopping: boolean;
  /** The node's client certificate is past its end: the kubelet then exits whatever its config says. */
  certificateExpired: boolean;
}

export type ExitCause = { blame: 'config' | 'none'; why: string };

// A Go program gets these only from outside; by itself it ends with an exit code, SIGABRT or SIGSEGV.
const sentFromOutside: ReadonlySet<string> = new Set([
  'SIGTERM',
  'SIGKILL',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
]);

export function explainExit(exit: ExitStatus, { stopping, certificateExpired }: Circumstances): ExitCause {
  if (stopping) return { blame: 'none', why: 'the machine is going down' };
  if (exit.error !== undefined) return { blame: 'none', why: `could not be started: ${exit.error.message}` };
  if (certificateExpired) return { blame: 'none', why: 'the client certificate of the node has expired' };
  if (exit.signal !== null)
    return sentFromOutside.has(exit.signal)
      ? { blame: 'none', why: `killed from outside by ${exit.signal}` }
      : { blame: 'config', why: `crashed with ${exit.signal}` };
  // A kubelet exits 0 only when it was asked to.
  if (exit.code === 0) return { blame: 'none', why: 'stopped from outside' };
  return { blame: 'config', why: `exit code ${exit.code}` };
}
