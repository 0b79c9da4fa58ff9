/**
 * Keeps signals that arrive before a handler exists. Imported first by the processes that manage a kubelet: by default an early SIGTERM
 * would end relet at once, and a kubelet that an earlier relet left running would stay.
 */

const handled: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGABRT', 'SIGUSR1', 'SIGUSR2'];
const kept: NodeJS.Signals[] = [];
let act = (signal: NodeJS.Signals): void => void kept.push(signal);

// `relet node` comes from the same file, and ends like any other program.
if (['kubelet', 'agent'].includes(process.argv[2]!))
  for (const signal of handled) process.on(signal, () => act(signal));

/** Handed on from here, since a bundle that is loaded later would have kept nothing. */
export const earlySignals = {
  /** From now on signals go there, those that were kept first. */
  handOver(handle: (signal: NodeJS.Signals) => void): void {
    act = handle;
    for (const signal of kept.splice(0)) handle(signal);
  },
  /** From now on they do what they do to any program. */
  leave(): void {
    for (const signal of handled) process.removeAllListeners(signal);
    for (const signal of kept.splice(0)) process.kill(process.pid, signal);
  },
};

export type EarlySignals = typeof earlySignals;
