/** Collects the findings of a forecast: the field, why the kubelet would exit, and the remedy. */
import { type Quantity, readQuantity } from '../../go/quantity.js';
import { quote } from '../../go/quote.js';
import { FirstOnes } from '../listed.js';
import type { Finding } from '../model.js';
import type { ConfigView } from '../rules/config-view.js';

export interface Stop {
  /** The problem, as a clause: `"5 %" is not a valid percentage`. */
  why: string;
  /** The remedy, as an order: `write a number and %`. */
  remedy: string;
  /** Text that the kubelet prints before it exits, if that helps to find it in a log. */
  says?: string;
}

export class Outlook {
  private readonly found = new FirstOnes<Finding>();

  constructor(readonly view: ConfigView) {}

  get findings(): Finding[] {
    return this.found.list;
  }

  /** This kubelet would not start. */
  stops(path: string, { why, remedy, says }: Stop): void {
    const quoted = says === undefined ? '' : ` with '${says}'`;
    this.add({
      severity: 'error',
      source: 'relet',
      path,
      message: `${why}: validation accepts it, but the kubelet exits at startup${quoted}; ${remedy}`,
    });
  }

  /** This kubelet would start, and a cgroup of the host would get less than it uses now. */
  starves(path: string, { why, remedy }: Pick<Stop, 'why' | 'remedy'>): void {
    this.add({ severity: 'error', source: 'relet', path, message: `${why}; ${remedy}`, starvesHost: true });
  }

  /** This kubelet would start, and crash later. */
  crashes(path: string, message: string): void {
    this.add({ severity: 'error', source: 'relet', path, message });
  }

  /** The quantity in a text that the kubelet reads only at start; undefined when it cannot, which is reported. */
  quantity(path: string, value: string, remedy: string): Quantity | undefined {
    const quantity = readQuantity(value);
    if (typeof quantity !== 'string') return quantity;
    this.stops(path, { why: `${quote(value)} is not a valid quantity`, says: quantity, remedy });
    return undefined;
  }

  /** This kubelet may fail to start, or start with another effect than intended. */
  warn(path: string, message: string): void {
    this.add({ severity: 'warning', source: 'relet', path, message });
  }

  private add(finding: Finding): void {
    this.found.add(finding, finding.severity);
  }
}

/** An entry of a map, as a path: `evictionHard[memory.available]`. */
export function entryPath(map: string, key: string): string {
  return `${map}[${key}]`;
}
