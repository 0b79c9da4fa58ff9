/** The input of every validation rule: the config as Go would read it, the minor, the gates and the host. Also collects the errors. */

import { tryParseDuration } from '../../go/duration.js';
import { isObject } from '../../json.js';
import { gatesIn, isOn, settle } from '../gates.js';
import { FirstOnes } from '../listed.js';
import { getField, type Host, type KubeletConfig, type Minor, type ValidationContext } from '../model.js';
import { gatesOfFlags } from './command-line.js';

export interface RuleError {
  /** Dotted path of the field to change; '' where there is no single one. */
  path: string;
  message: string;
  remedy?: string;
  /** The kubelet reports it only when those before it are corrected. */
  isLater?: boolean;
  /** Stands for so many errors that are not listed. */
  more?: number;
}

export const firstOf = (errors: readonly RuleError[]): RuleError[] =>
  errors.map((error, index) => (index === 0 ? error : { ...error, isLater: true }));

/** A config as rules read it, and the errors that they report. An absent or null field reads as Go's zero value, as in the kubelet. */
export class ConfigView {
  readonly minor: Minor;
  readonly host: Host;
  private readonly reported = new FirstOnes<RuleError>();

  constructor(
    readonly config: KubeletConfig,
    readonly context: ValidationContext,
    /** Whether a gate is on, after flags and document. */
    readonly gate: (name: string) => boolean,
  ) {
    this.minor = context.minor;
    this.host = context.host ?? {};
  }

  get errors(): readonly RuleError[] {
    return this.reported.list;
  }

  report(path: string, message: string): void {
    this.reported.add({ path, message }, 'error');
  }

  /** For rules of which the kubelet reports only the first error. */
  reportFirst(errors: readonly RuleError[]): void {
    this.reported.list.push(...firstOf(errors));
  }

  /** Integers may be bigint beyond 2^53; as numbers they are near enough for every bound and printed from `print`. */
  number(path: string): number {
    return Number(this.get(path) ?? 0);
  }

  text(path: string): string {
    return String(this.get(path) ?? '');
  }

  bool(path: string): boolean {
    return this.get(path) === true;
  }

  list(path: string): readonly unknown[] {
    const value = this.get(path);
    return Array.isArray(value) ? value : [];
  }

  map(path: string): Readonly<Record<string, unknown>> {
    const value = this.get(path);
    return isObject(value) ? value : {};
  }

  /** In nanoseconds. */
  duration(path: string): bigint {
    return toNanoseconds(this.get(path));
  }

  isSet(path: string): boolean {
    return (this.get(path) ?? null) !== null;
  }

  get(path: string): unknown {
    return getField(this.config, path);
  }
}

/** With the gates as flags and config set them. */
export function viewOf(config: KubeletConfig, context: ValidationContext): ConfigView {
  const settled = settle([gatesOfFlags(context.flags), gatesIn(config)], context.minor);
  return new ConfigView(config, context, (name) => isOn(name, settled, context.minor));
}

/** A duration is Go text; logging.flushFrequency was a number of nanoseconds until 1.27. */
export function toNanoseconds(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return BigInt(Math.trunc(value));
  return (typeof value === 'string' ? tryParseDuration(value) : undefined) ?? 0n;
}
