/** What a person should know about a config although it may run. Pure. */
import { diff } from '../../config/diff.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';

export interface Comparison {
  minor: Minor;
  /** As written, before defaults and flags. */
  candidate: KubeletConfig;
  local: KubeletConfig;
  /** After defaults and flags. */
  candidateEffective: KubeletConfig;
  localEffective: KubeletConfig;
}

export function warningsFor(comparison: Comparison): string[] {
  return [...forgotten(comparison), ...gatesLeftBehind(comparison)];
}

/** A config may have ten thousand things wrong with it; a status, an event and a reader have room for some of them. */
export function bounded(lines: string[]): string[] {
  const short = lines.slice(0, mostLines).map((line) => (line.length > longest ? `${line.slice(0, longest)} …` : line));
  return lines.length > mostLines ? [...short, `and ${lines.length - mostLines} more`] : short;
}

const mostLines = 20;
const longest = 1000;

/** A dynamic config replaces the local files as a whole: what only they set falls back to its default. */
function forgotten({ candidate, local, candidateEffective, localEffective, minor }: Comparison): string[] {
  return diff(localEffective, candidateEffective, minor)
    .map(({ path }) => path.replace(/\[.*$/, ''))
    .filter((path, index, all) => all.indexOf(path) === index && path !== 'featureGates')
    .filter((path) => isSet(local, path) && !isSet(candidate, path))
    .map(
      (path) =>
        `${path} is set in the local config (${show(localEffective, path)}) and not in this one: it becomes ${show(candidateEffective, path)}`,
    );
}

function gatesLeftBehind({ candidate, local }: Comparison): string[] {
  const [ours, theirs] = [gatesOf(local), gatesOf(candidate)];
  return Object.entries(ours)
    .filter(([gate]) => gate !== 'DynamicKubeletConfig' && !Object.hasOwn(theirs, gate))
    .map(([gate, value]) => `feature gate ${gate}=${value} is set only in the local config: it does not apply here`);
}

function gatesOf(config: KubeletConfig): Record<string, unknown> {
  const gates = config.featureGates;
  return typeof gates === 'object' && gates !== null ? (gates as Record<string, unknown>) : {};
}

function isSet(config: KubeletConfig, path: string): boolean {
  const value = getField(config, path);
  return value !== undefined && value !== null;
}

function show(config: KubeletConfig, path: string): string {
  return JSON.stringify(getField(config, path) ?? null);
}
