/** Options of the CPU and topology managers: which exist in a minor, behind which gate, and their values. */

import { quote } from '../../go/quote.js';
import { atoiError, isGoBool } from '../../go/text.js';
import type { Minor } from '../model.js';
import { entryPath, type Outlook } from './outlook.js';

export interface Option {
  /** The minors from which on it is alpha, beta, stable. */
  stages: readonly [alpha: Minor, beta: Minor, stable: Minor];
  kind: 'bool' | 'numa-count';
}

/** Reports options that do not exist, are behind a gate that is off, or have an invalid value. */
export function forecastOptions(outlook: Outlook, field: string, known: Record<string, Option>, gates: string): void {
  const { view } = outlook;
  for (const [name, value] of Object.entries(view.map(field))) {
    const path = entryPath(field, name);
    const option = Object.hasOwn(known, name) ? known[name]! : undefined;
    const gate = option === undefined ? undefined : gateOf(option, view.minor, gates);
    if (option === undefined || option.stages[0] > view.minor)
      outlook.stops(path, {
        why: `${quote(name)} is not an option of this manager in 1.${view.minor}`,
        remedy: `use ${
          Object.keys(known)
            .filter((each) => known[each]!.stages[0] <= view.minor)
            .join(', ') || 'none'
        }`,
      });
    else if (gate !== undefined && !view.gate(gate))
      outlook.stops(path, {
        why: `${name} needs the feature gate ${gate}`,
        remedy: 'turn the gate on, or remove the option',
      });
    else if (valueProblem(option, String(value)) !== undefined)
      outlook.stops(path, {
        why: `${quote(String(value))} ${valueProblem(option, String(value))}`,
        remedy: option.kind === 'bool' ? 'write "true" or "false"' : 'write "8" or more',
      });
  }
}

/** In 1.22, the first with options, no gate guarded any of them. */
function gateOf(option: Option, minor: Minor, gates: string): string | undefined {
  if (minor === 22 || minor >= option.stages[2]) return undefined;
  return `${gates}Policy${minor >= option.stages[1] ? 'Beta' : 'Alpha'}Options`;
}

function valueProblem(option: Option, value: string): string | undefined {
  if (option.kind === 'bool') return isGoBool(value) ? undefined : 'is neither true nor false';
  if (atoiError(value) !== undefined) return 'is not a number';
  return Number(value) < 8 ? 'is less than 8' : undefined;
}
