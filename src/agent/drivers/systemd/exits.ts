/** Reads why the kubelet of a unit exited, from the record that relet's script wrote or from systemd's unit state. Pure. */
import { constants } from 'node:os';
import type { Exit } from '../driver.js';
import type { ExitRecord } from './own-files.js';
import type { UnitState } from './systemd.js';

/** systemd's own exit code for a program that it cannot start. */
const cannotExecute = 203;
const signalNames = Object.entries(constants.signals) as [NodeJS.Signals, number][];

export function exitOf({ code, status, rolledBack, byItself }: ExitRecord): Exit {
  const how = code === 'exited' ? exited(Number(status)) : killed(`SIG${status}`);
  return { ...how, requested: false, ...(rolledBack && { rolledBack }), ...(byItself && { byItself }) };
}

/** An exit of which there is no record: the local config, or a stop from outside. */
export function lastExit({ invocationId, execMainCode, execMainStatus }: UnitState, invocation: string): Exit {
  // Another start has replaced what systemd knew about it.
  const isKnown = invocationId === invocation && execMainCode !== 0;
  if (!isKnown) return { code: 0, signal: null, requested: false };
  const signal = signalNames.find(([, number]) => number === execMainStatus)?.[0];
  return { ...(execMainCode === 1 ? exited(execMainStatus) : killed(signal ?? '')), requested: false };
}

function exited(code: number): Omit<Exit, 'requested'> {
  if (code === cannotExecute)
    return { code: null, signal: null, error: new Error('systemd cannot execute the program of the unit') };
  return { code, signal: null };
}

function killed(name: string): Omit<Exit, 'requested'> {
  const signal = Object.hasOwn(constants.signals, name) ? (name as NodeJS.Signals) : 'SIGKILL';
  return { code: null, signal };
}
