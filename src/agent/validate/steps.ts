/**
 * Steps of validate.ts: isolation checks, warnings, and the probe of the kubelet binary. The first two are pure and get the facts
 * passed in.
 */

import { diff } from '../../config/diff.js';
import type { Objection } from '../../config/field-policy.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';

export interface IsolationFacts {
  /** Whether the local config's static pod directory holds manifests. */
  hasStaticPods: boolean;
  /** Node.spec.providerID as last seen; undefined while unknown. */
  providerID?: string;
}

/** Isolation checks: changes that would cut this node off. */
export function cutOffs(candidate: KubeletConfig, local: KubeletConfig, facts: IsolationFacts): Objection[] {
  return [
    ...staticPods(candidate, local, facts),
    ...foreignProvider(candidate, local, facts),
    ...noServer(candidate, local),
  ];
}

function staticPods(candidate: KubeletConfig, local: KubeletConfig, { hasStaticPods }: IsolationFacts): Objection[] {
  const [before, after] = [getField(local, 'staticPodPath') || '', getField(candidate, 'staticPodPath') || ''];
  if (!hasStaticPods || before === after) return [];
  return [
    {
      field: 'staticPodPath',
      message: `staticPodPath: ${JSON.stringify(after)} would stop the static pods in ${before}, on a control-plane node the API server itself`,
    },
  ];
}

/** Cut-offs that only the part of the local config that cannot be read would show. */
export function uncheckedCutOffs(
  candidate: KubeletConfig,
  { message, isKnown }: { message: string; isKnown(field: string): boolean },
): Objection[] {
  if (isKnown('staticPodPath') || getField(candidate, 'staticPodPath')) return [];
  return [
    {
      field: 'staticPodPath',
      message: `this config has no staticPodPath, which may stop static pods: relet cannot read the local config: ${message}`,
    },
  ];
}

/** A providerID names one machine, so a shared config that sets it gives several nodes the same identity. */
function foreignProvider(candidate: KubeletConfig, local: KubeletConfig, { providerID }: IsolationFacts): Objection[] {
  const wanted = getField(candidate, 'providerID') || '';
  const own = providerID || getField(local, 'providerID') || '';
  if (wanted === '' || wanted === own) return [];
  return [
    {
      field: 'providerID',
      message: `providerID: ${JSON.stringify(wanted)} is not this machine's (${own === '' ? 'none is known' : own}); two nodes with one providerID are taken for one`,
    },
  ];
}

function noServer(candidate: KubeletConfig, local: KubeletConfig): Objection[] {
  if (getField(candidate, 'enableServer') !== false || getField(local, 'enableServer') === false) return [];
  return [
    {
      field: 'enableServer',
      message:
        'enableServer: false would close the kubelet API: kubectl logs, exec and port-forward and the metrics of this node would stop working',
    },
  ];
}

interface Comparison {
  minor: Minor;
  /** As written, before defaults and flags. */
  candidate: KubeletConfig;
  local: KubeletConfig;
  /** After defaults and flags. */
  candidateEffective: KubeletConfig;
  localEffective: KubeletConfig;
}

/** Warnings for a person about a config that may run. */
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

export interface KubeletProbe {
  /** Runs the kubelet with these arguments and collects what it prints. Kills it after `timeoutMs`. */
  run(args: string[], timeoutMs: number): Promise<{ code: number | null; output: string; timedOut: boolean }>;
  /** Why there is no kubelet binary to probe. */
  none?: string | undefined;
  /** A new one for each probe, so that the author of a config cannot know it. */
  uuid(): string;
}

export type ProbeResult =
  | { kind: 'accepted'; output: string }
  | { kind: 'rejected'; message: string; output: string }
  /** No answer: it could not be run, ran into the timeout, or printed nothing that we know. */
  | { kind: 'unknown'; reason: string };

/**
 * Its parent does not exist, and cannot be made below a device. The name is another for each probe: a kubelet quotes parts of a
 * document, so that a document with a known name could forge the answer.
 */
export const impossibleLockFile = (uuid: string): string => `/dev/null/relet-asks-${uuid}/lock`;

/** How long a kubelet may take to come to its lock; a busy node needs seconds, a hung one must not hold up the change. */
const timeoutMs = 20_000;

/**
 * Lets the kubelet binary itself validate a config, without starting it: with its lock file in a directory that does not
 * exist, a kubelet decodes, applies flags, validates, sets up TLS and then stops at the lock, before it changes anything.
 * True of every kubelet from 1.11 to 1.37. `args` are those of the start that is asked about, the config among them.
 */
export async function probeKubelet(probe: KubeletProbe, args: string[]): Promise<ProbeResult> {
  if (probe.none !== undefined) return { kind: 'unknown', reason: probe.none };
  const lockFile = impossibleLockFile(probe.uuid());
  let answer: Awaited<ReturnType<KubeletProbe['run']>>;
  try {
    answer = await probe.run([...args, `--lock-file=${lockFile}`], timeoutMs);
  } catch (error) {
    return { kind: 'unknown', reason: `could not run the kubelet: ${(error as Error).message}` };
  }
  if (answer.timedOut) return { kind: 'unknown', reason: `the kubelet gave no answer within ${timeoutMs / 1000} s` };
  return readProbe(answer.output, answer.code, lockFile);
}

export function readProbe(output: string, code: number | null, lockFile: string): ProbeResult {
  const message = lastError(output);
  if (code === 0 || message === undefined)
    return { kind: 'unknown', reason: `the kubelet ended with ${code} and nothing about the config` };
  if (message.includes(`unable to acquire file lock on "${lockFile}"`)) return { kind: 'accepted', output };
  return { kind: 'rejected', message, output };
}

/** An information or a warning does not show why a kubelet exited. */
const notice = /^[IW]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] /;
const klog = /^[EF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] (.*)$/;

/** The last error line: klog (`E1115 … server.go:206] "…" err="…"`), the same in JSON, a cobra `Error: …`, or a panic. */
function lastError(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trimEnd());
  const isError = (line: string) =>
    klog.test(line) || line.startsWith('Error: ') || line.startsWith('panic: ') || jsonError(line) !== undefined;
  const at = lines.findLastIndex(isError);
  const errorLine = lines[at];
  if (errorLine === undefined) return lines.findLast((line) => line !== '' && !notice.test(line));
  const text = jsonError(errorLine) ?? klog.exec(errorLine)?.[1] ?? errorLine.replace(/^Error: /, '');
  if (text.endsWith(' err=<')) return blockAfter(lines.slice(at + 1));
  const quoted = /err="((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  return quoted === undefined ? text : quoted.replace(/\\(["\\n])/g, (_, char) => (char === 'n' ? '\n' : char));
}

/** An error of several lines: klog indents them with a tab and closes them with ` >`. */
function blockAfter(lines: readonly string[]): string {
  const end = lines.indexOf(' >');
  return lines
    .slice(0, end === -1 ? lines.length : end)
    .map((line) => line.replace(/^\t/, ''))
    .join('\n');
}

/** With `logging.format: json` a line is an object, and that of an error has `err`. */
function jsonError(line: string): string | undefined {
  if (!line.startsWith('{"ts":')) return undefined;
  try {
    const { err } = JSON.parse(line) as { err?: unknown };
    return typeof err === 'string' ? err : undefined;
  } catch {
    return undefined;
  }
}
