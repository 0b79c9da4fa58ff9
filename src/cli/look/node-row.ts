/** One node in the fleet as `relet get` shows it: as a row, and as an object for `-o json` and its kin. Pure. */

import { sourceText } from '../../api/config-history.js';
import { configState, type SourceName, sourceName } from '../../api/config-state.js';
import { shortDuration } from '../../api/short-duration.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { ageOf } from '../age.js';
import type { Column } from '../table.js';

/** The object that templates and sorting see. Its shape is told in docs/cli.md. */
export interface NodeObject {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'NodeConfigSummary';
  metadata: { name: string; creationTimestamp: string; labels: Record<string, string> };
  spec: { configSource?: ConfiguredNode['configSource'] };
  status: ConfiguredNode['status'] & {
    state: string;
    cause?: string;
    held?: ConfiguredNode['held'];
    trialEndsAt?: string;
    ready: string;
    kubeletVersion: string;
    agentVersion?: string;
  };
}

export function nodeObject(node: ConfiguredNode): NodeObject {
  const { configSource, trialEndsAt, agentVersion } = node;
  const state = configState(node);
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'NodeConfigSummary',
    metadata: { name: node.name, creationTimestamp: node.createdAt, labels: node.labels },
    spec: { ...(configSource && { configSource }) },
    status: {
      state: node.held === undefined ? state : 'held',
      ...node.status,
      ...(node.cause !== undefined && { cause: node.cause }),
      ...(node.held !== undefined && { held: node.held }),
      ...(state === 'trial' && trialEndsAt && { trialEndsAt }),
      ready: node.ready,
      kubeletVersion: node.kubeletVersion,
      ...(agentVersion && { agentVersion }),
    },
  };
}

/** `trial 4m12s left`, where the node reports when it ends; `held` whatever it runs, since it follows nothing new. */
export function stateText(node: ConfiguredNode, nowMs: number): string {
  if (node.held !== undefined) return 'held';
  const state = configState(node);
  const ends = Date.parse(node.trialEndsAt ?? '');
  if (state !== 'trial' || Number.isNaN(ends)) return state;
  return ends > nowMs ? `trial ${shortDuration(ends - nowMs)} left` : 'trial ending';
}

/** Only what tells nodes apart; thousands of these are held at once. */
export interface NodeRow {
  name: string;
  state: string;
  assigned: string;
  active: string;
  lastKnownGood: string;
  createdAt: string;
  age: string;
  error: string;
  ready: string;
  version: string;
  labels: string;
}

export function nodeRow(node: ConfiguredNode, nowMs: number, { wide = false, labels = false } = {}): NodeRow {
  const { configSource, status } = node;
  const name = (source: SourceName | undefined) =>
    source === undefined ? 'local' : wide ? sourceText(source) : source.name;
  return {
    name: node.name,
    state: stateText(node, nowMs),
    assigned: name(sourceName(configSource)),
    active: name(sourceName(status.active)),
    lastKnownGood: name(sourceName(status.lastKnownGood)),
    createdAt: node.createdAt,
    age: ageOf(node.createdAt, nowMs),
    error: (status.error ?? '').replace(/, see Kubelet log for details$/, ''),
    ready: node.ready,
    version: node.kubeletVersion,
    labels: labels
      ? Object.entries(node.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(',')
      : '',
  };
}

export function rowColumns({ wide = false, labels = false } = {}): Column<NodeRow>[] {
  return [
    { title: 'NODE', cell: ({ name }) => name, gives: 'middle' },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'ASSIGNED', cell: ({ assigned }) => assigned, gives: 'middle' },
    { title: 'ACTIVE', cell: ({ active }) => active, gives: 'middle' },
    { title: 'LAST-KNOWN-GOOD', cell: ({ lastKnownGood }) => lastKnownGood, gives: 'middle' },
    ...(wide
      ? [
          { title: 'READY', cell: ({ ready }: NodeRow) => ready },
          { title: 'VERSION', cell: ({ version }: NodeRow) => version || '<unknown>' },
        ]
      : []),
    { title: 'AGE', cell: ({ age }) => age },
    { title: 'ERROR', cell: ({ error }) => error, gives: 'end' },
    ...(labels ? [{ title: 'LABELS', cell: ({ labels: text }: NodeRow) => text }] : []),
  ];
}
