/**
 * Observation of one node for an analysis: the request of the controller and the answer of the agent. Pure.
 *
 * The request is an annotation of the NodeConfig, not a part of its spec: a changed spec is a new assignment that the agent must first
 * report, and on a NodeConfig that is unset it would assign the local config.
 *
 *   relet.dev/observe: '{"id":"gpu/1f0c2d3e4f/1/2","before":["2026-03-01T10:00:00Z","2026-03-01T10:10:00Z"],"after":[…,…]}'
 */
import { isObject, parseObject } from '../json.js';
import type { KubeObject } from './object.js';
import { isSignalName, type SignalName, signals } from './signals.js';

export const observeAnnotation = 'relet.dev/observe';

/** Begin and end, in RFC 3339. */
export type TimeSpan = readonly [from: string, to: string];

/** Canaries and controls of a wave get the same request, and so the same calendar windows. */
export interface ObserveRequest {
  /** SET/REVISION/ATTEMPT/WAVE. */
  id: string;
  before: TimeSpan;
  after: TimeSpan;
}

/** Why a node cannot answer as a whole. One signal that is missing is left out of `signals` instead. */
export const unfitReasons = ['Booted', 'NoHistory'] as const;
export type UnfitReason = (typeof unfitReasons)[number];

/** In the status of the NodeConfig, from the end of `after` on, until the next answer. */
export interface Observed {
  id: string;
  /** A signal that the node cannot measure is missing, never 0. */
  signals: Partial<Record<SignalName, [before: number, after: number]>>;
  /** Booted: since `before` began. NoHistory: the agent was not there, or its history has not half of the minutes of a window. */
  unfit?: UnfitReason;
}

/** Windows longer than this are not requested: the history of a node has two hours. */
export const longestWindowMs = 30 * 60_000;

export const observeRequestOf = ({ metadata }: Pick<KubeObject, 'metadata'>): ObserveRequest | undefined =>
  readObserve(metadata.annotations?.[observeAnnotation]);

export const observeText = ({ id, before, after }: ObserveRequest): string => JSON.stringify({ id, before, after });

/** Undefined for an annotation that is not there, or is not a request that can be answered. */
export function readObserve(text: string | undefined): ObserveRequest | undefined {
  const { id, before, after } = parseObject(text) ?? {};
  if (typeof id !== 'string' || id === '' || id.length > 253 || !isSpan(before) || !isSpan(after)) return undefined;
  return Date.parse(before[1]) <= Date.parse(after[0]) ? { id, before, after } : undefined;
}

function isSpan(span: unknown): span is TimeSpan {
  if (!Array.isArray(span) || span.length !== 2 || !span.every((time) => typeof time === 'string')) return false;
  const [from, to] = span.map((time) => Date.parse(time)) as [number, number];
  const ms = to - from;
  return ms > 0 && ms <= longestWindowMs;
}

/** The answer of a node, which may write anything: values out of range, and signals that are not known, count as no answer. */
export function readObserved(value: unknown): Observed | undefined {
  if (!isObject(value) || typeof value.id !== 'string') return undefined;
  const unfit = unfitReasons.find((reason) => reason === value.unfit);
  const found: Observed['signals'] = {};
  for (const [name, pair] of Object.entries(isObject(value.signals) ? value.signals : {})) {
    if (!isSignalName(name) || !Array.isArray(pair) || pair.length !== 2) continue;
    const [before, after] = pair;
    if (isInRange(name, before) && isInRange(name, after)) found[name] = [before, after];
  }
  return { id: value.id, signals: found, ...(unfit && { unfit }) };
}

function isInRange(name: SignalName, value: unknown): value is number {
  const { kind, most } = signals[name];
  if (typeof value !== 'number' || !(value >= 0 && value <= most)) return false;
  return kind === 'level' || Number.isInteger(value);
}
