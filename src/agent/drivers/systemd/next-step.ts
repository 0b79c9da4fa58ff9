/**
 * Next step of the driver so that the kubelet's unit runs a config. Pure: driver.ts reads the host, takes this step,
 * and reads it again.
 *
 *     runs it                          ► adopt
 *     stopped, masked, overridden      ► wait: left alone
 *     it is kept, a trial is there     ► roll back
 *     the next start would run it      ► restart
 *     otherwise                        ► switch: a trial
 */
import type { Notice } from '../driver.js';
import type { UnitState } from './systemd.js';
import { type BaseCommand, type DropInHeader, type DropInKind, local } from './unit-text.js';

export interface HostView {
  unit: UnitState;
  /** relet's drop-ins as they are on disk. */
  own: Partial<Record<DropInKind, DropInHeader>>;
  /** Undefined for a masked unit, which has no files. */
  base: BaseCommand | undefined;
  /** The config of the kubelet that runs: `local`, or a digest. Undefined when none runs. */
  running: string | undefined;
  /** Arguments after the unit's command would not reach the kubelet, or not be the last ones. */
  obstacle: string | undefined;
}

export type Step =
  | { kind: 'adopt'; invocation: string }
  /** Until the host changes; with a notice where that is for an operator to do. */
  | { kind: 'wait'; notice?: Notice }
  | { kind: 'roll back' }
  | { kind: 'restart' }
  | { kind: 'switch' };

/** Config that the host returns to from a trial. */
export function keptConfig({ own }: Pick<HostView, 'own'>): string {
  return (own.fallback ?? own.good)?.config ?? local;
}

/** Config of the next start. */
export function nextConfig(view: Pick<HostView, 'own'>): string {
  return view.own.trial?.config ?? keptConfig(view);
}

export function nextStep(view: HostView, wanted: string): Step {
  const { unit, running, own } = view;
  if (running === wanted) return { kind: 'adopt', invocation: unit.invocationId };
  const notice = obstacleTo(view);
  if (notice !== undefined) return { kind: 'wait', notice };
  if (unit.activeState === 'deactivating') return { kind: 'wait' };
  if (own.trial !== undefined && own.trial.config !== wanted && keptConfig(view) === wanted)
    return { kind: 'roll back' };
  if (nextConfig(view) !== wanted || isStale(view)) return { kind: 'switch' };
  // systemd starts it in a moment, or its process exits or is not the kubelet yet.
  const isStarting =
    unit.hasJob ||
    (unit.activeState === 'activating' && unit.mainPid === 0) ||
    (unit.mainPid !== 0 && running === undefined);
  return { kind: isStarting ? 'wait' : 'restart' };
}

function obstacleTo({ unit, obstacle }: HostView): Notice | undefined {
  if (isMasked(unit)) return { reason: 'UnitMasked', message: maskedBy(unit) };
  if (unit.activeState === 'inactive')
    return { reason: 'UnitStopped', message: 'the unit was stopped, or not started since the boot' };
  return obstacle === undefined ? undefined : { reason: 'CommandOverridden', message: obstacle };
}

export const isMasked = ({ loadState, unitFileState }: UnitState): boolean =>
  loadState === 'masked' || unitFileState.startsWith('masked');

const maskedBy = ({ unitFileState }: UnitState): string =>
  `the unit is ${unitFileState === '' ? 'masked' : unitFileState}: it can be neither started nor restarted`;

/** The drop-in that is effective repeats a command that the unit no longer has. */
export function isStale({ own, base }: Pick<HostView, 'own' | 'base'>): boolean {
  const effective = own.trial ?? own.fallback ?? own.good;
  return effective !== undefined && base !== undefined && effective.base !== base.digest;
}

/** The kubelet of that start has exited. A unit that is stopping may still run ExecStopPost=. */
export function hasExited({ invocationId, activeState, subState }: UnitState, invocation: string): boolean {
  if (invocationId !== invocation) return true;
  return activeState === 'inactive' || activeState === 'failed' || subState.startsWith('auto-restart');
}
