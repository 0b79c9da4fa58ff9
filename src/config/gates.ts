/** The feature gates of each minor: which exist, their defaults, and the kubelet's messages when they are set. */
import { gateDependencies, gateRows } from './facts/gate-rows.js';
import { type KubeletConfig, knownMinor, type Minor } from './model.js';
import { nearest } from './suggest.js';

export interface Gate {
  stage: 'Alpha' | 'Beta' | 'GA' | 'Deprecated';
  default: boolean;
  /** Any other value than the default is refused. */
  locked: boolean;
}

/** Values of gates, set by the document, by the flags, or by both. */
export type Gates = Readonly<Record<string, boolean>>;

/** The gates a config sets. */
export function gatesIn(config: KubeletConfig): Gates {
  const gates = config.featureGates;
  return typeof gates === 'object' && gates !== null ? (gates as Gates) : {};
}

const stages = { A: 'Alpha', B: 'Beta', G: 'GA', D: 'Deprecated' } as const;

/** Parsed lazily, gate by gate: a run needs only a few of them. */
let rows: Map<string, string> | undefined;
const parsed = new Map<string, ReadonlyMap<Minor, Gate>>();

function gateNames(): Map<string, string> {
  rows ??= new Map([...gateRows.matchAll(/(\w+):(\S+)/g)].map(([, name, ranges]) => [name!, ranges!]));
  return rows;
}

function historyOf(name: string): ReadonlyMap<Minor, Gate> {
  let byMinor = parsed.get(name);
  if (byMinor === undefined) {
    byMinor = parseRanges(gateNames().get(name) ?? '');
    parsed.set(name, byMinor);
  }
  return byMinor;
}

function parseRanges(ranges: string): Map<Minor, Gate> {
  const byMinor = new Map<Minor, Gate>();
  for (const [, from, to = from, stage, sign, lock] of ranges.matchAll(/(\d+)(?:-(\d+))?([ABGD])([+-])(!?)/g)) {
    const gate = { stage: stages[stage as keyof typeof stages], default: sign === '+', locked: lock === '!' };
    for (let minor = Number(from); minor <= Number(to); minor++) byMinor.set(minor, gate);
  }
  return byMinor;
}

/** The gate as in that minor; undefined if that minor does not have it. */
export function gateAt(name: string, minor: Minor): Gate | undefined {
  const known = knownMinor(minor);
  if (name === 'AllAlpha') return { stage: 'Alpha', default: false, locked: false };
  if (name === 'AllBeta') return known >= 17 ? { stage: 'Beta', default: false, locked: false } : undefined;
  return gateNames().has(name) ? historyOf(name).get(known) : undefined;
}

/** Every gate of that minor, in alphabetical order. */
export function gatesOf(minor: Minor): string[] {
  return [...gateNames().keys()].filter((name) => gateAt(name, minor) !== undefined);
}

/** Whether a gate is on, given the chosen ones (AllAlpha and AllBeta included) and that minor's defaults. */
export function isGateOn(name: string, chosen: Gates, minor: Minor): boolean {
  // As settle() of this one layer has it, without walking the layer.
  if (Object.hasOwn(chosen, name) && !isGroup(name)) return chosen[name]!;
  const gate = gateAt(name, minor);
  const group = gate?.stage === 'Alpha' ? 'AllAlpha' : gate?.stage === 'Beta' ? 'AllBeta' : undefined;
  if (group !== undefined && !isGroup(name) && Object.hasOwn(chosen, group)) return chosen[group]!;
  return gate?.default ?? false;
}

/**
 * The process-wide registry after each layer was added: a later layer overrides an earlier one, and AllAlpha and AllBeta move only
 * what no layer so far has touched.
 */
export function settle(
  layers: readonly Gates[],
  minor: Minor,
  without: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, boolean> {
  const settled = new Map<string, boolean>();
  for (const layer of layers) {
    const groups: [string, boolean][] = [];
    for (const name of knownNames(layer))
      if (without.has(name)) continue;
      else if (isGroup(name)) groups.push([name, layer[name]!]);
      else settled.set(name, layer[name]!);
    for (const [name, value] of groups) settleGroup(name, value, settled, minor);
  }
  return settled;
}

/** Names of a layer without those that no kubelet knows, of which it may have thousands. */
function knownNames(layer: Gates): string[] {
  const all = [...gateNames().keys(), 'AllAlpha', 'AllBeta'];
  const names = Object.keys(layer);
  return names.length > all.length
    ? all.filter((name) => Object.hasOwn(layer, name))
    : names.filter((name) => isGroup(name) || gateNames().has(name));
}

const isGroup = (name: string) => name === 'AllAlpha' || name === 'AllBeta';

function settleGroup(group: string, value: boolean, settled: Map<string, boolean>, minor: Minor): void {
  const stage = group === 'AllAlpha' ? 'Alpha' : 'Beta';
  for (const name of gateNames().keys())
    if (!settled.has(name) && gateAt(name, minor)?.stage === stage) settled.set(name, value);
}

export function isOn(name: string, settled: ReadonlyMap<string, boolean>, minor: Minor): boolean {
  return settled.get(name) ?? gateAt(name, minor)?.default ?? false;
}

export interface GateError {
  name: string;
  message: string;
  remedy?: string;
  /** Suggests the gate that the author may have meant. */
  meant?: string;
  /** The kubelet reports it only when those before it are corrected. */
  isLater?: boolean;
}

/**
 * Errors of the kubelet about these layers; empty when it accepts them. It walks a Go map, so with several bad gates its choice is
 * random: ours is alphabetical. Until 1.30 the first bad gate ends it; since then only an unknown one does.
 */
export function gateErrors(layers: readonly Gates[], minor: Minor): GateError[] {
  const set = layers.filter((layer) => Object.keys(layer).length > 0);
  const chosen: Gates = set.length === 1 ? set[0]! : Object.assign(Object.create(null), ...set);
  const errors: GateError[] = [];
  const bad = new Set<string>();
  let hasEnded = false;
  for (const name of Object.keys(chosen).sort()) {
    // settle() passes over what no kubelet knows, so that more of these change nothing.
    if (errors.length >= mostErrors && !isGroup(name) && !gateNames().has(name)) continue;
    const error = gateError(name, chosen[name]!, minor, { guess: errors.length < mostGuesses });
    if (error === undefined) continue;
    bad.add(name);
    if (errors.length < mostErrors) errors.push(hasEnded ? { ...error, isLater: true } : error);
    hasEnded ||= minor <= 30 || gateAt(name, minor) === undefined;
  }
  if (minor < 35) return errors;
  const others = dependencyErrors(settle(layers, minor, bad), minor);
  return [...errors, ...others.map((error) => (errors.length === 0 ? error : { ...error, isLater: true }))];
}

/** The kubelet itself reports only the first; the others are for a person, who does not read hundreds. */
const mostErrors = 200;
/** A guess costs a look at every gate. */
const mostGuesses = 20;

function gateError(
  name: string,
  value: boolean,
  minor: Minor,
  { guess: mayGuess }: { guess: boolean },
): GateError | undefined {
  const gate = gateAt(name, minor);
  if (gate === undefined) {
    const message = `unrecognized ${minor === 11 ? 'key' : 'feature gate'}: ${name}`;
    return { name, message, ...(mayGuess && guess(name, minor)) };
  }
  if (!gate.locked || value === gate.default) return undefined;
  const message = `cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`;
  return { name, message, remedy: `remove it: this kubelet has it always ${gate.default ? 'on' : 'off'}` };
}

/** Remedy for a gate that a minor does not know. */
function guess(name: string, minor: Minor): Pick<GateError, 'remedy' | 'meant'> {
  const minors = gateNames().has(name) ? [...historyOf(name).keys()] : [];
  const last = Math.max(...minors);
  if (last < minor && minors.length > 0) return { remedy: `remove it: 1.${last} was the last version that knew it` };
  if (minors.length > 0) return { remedy: `remove it: it came with 1.${Math.min(...minors)}` };
  const meant = nearest(name, gatesOf(minor));
  return meant === undefined ? {} : { meant, remedy: `did you mean ${meant}?` };
}

/** Undefined for a gate that any minor knows; else a sentence. A guess at what was meant costs a look at every gate. */
export function unknownGate(name: string, minor: Minor, { guess: mayGuess = true } = {}): string | undefined {
  if (isGroup(name) || gateNames().has(name)) return undefined;
  const meant = mayGuess ? nearest(name, gatesOf(minor)) : undefined;
  return `there is no feature gate '${name}'; ${meant === undefined ? 'remove it' : `did you mean '${meant}'?`}`;
}

const dependency = /(\w+)<([\w+]+)(?:@(\d+)(?:-(\d+))?)?/g;

function dependencyErrors(settled: ReadonlyMap<string, boolean>, minor: Minor): GateError[] {
  // The defaults of a minor never contradict each other.
  if (settled.size === 0) return [];
  const errors: GateError[] = [];
  const at = knownMinor(minor);
  for (const [, name, others, from = at, to = from] of gateDependencies.matchAll(dependency)) {
    if (at < Number(from) || at > Number(to) || !isOn(name!, settled, minor)) continue;
    const off = others!.split('+').filter((other) => !isOn(other, settled, minor));
    if (off.length === 0) continue;
    errors.push({
      name: name!,
      message: `${name} is enabled, but depends on features that are disabled: [${off.join(' ')}]`,
      remedy: `set ${name} to false, or ${off.join(' and ')} to true`,
    });
  }
  return errors;
}

/** Log lines of the kubelet about gates that will be removed; setting them works today and stops a later kubelet. */
export function gateWarnings(chosen: Gates, minor: Minor): GateError[] {
  if (minor < 12) return [];
  return Object.keys(chosen)
    .filter((name) => gateNames().has(name))
    .sort()
    .flatMap((name) => {
      const stage = gateAt(name, minor)?.stage;
      if (stage !== 'GA' && stage !== 'Deprecated') return [];
      const word = stage === 'GA' ? 'GA' : 'deprecated';
      return [
        {
          name,
          message: `Setting ${word} feature gate ${name}=${chosen[name]}. It will be removed in a future release.`,
        },
      ];
    });
}
