/**
 * Kinds that a real kubelet reads or writes itself: without its CSINode it exits, without the others it waits
 * and logs errors. They have no controller here.
 */
import { ageColumn, column, nameColumn } from './columns.js';
import { defineResource } from './define.js';

export const csiNodes = defineResource({
  group: 'storage.k8s.io',
  kind: 'CSINode',
  plural: 'csinodes',
  shape: 'storage.v1.CSINode',
  namespaced: false,
  columns: [
    nameColumn,
    column('Drivers', 'How many drivers are registered on the node.', (node) => driversOf(node.spec).length),
    ageColumn,
  ],
});

export const csiDrivers = defineResource({
  group: 'storage.k8s.io',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  shape: 'storage.v1.CSIDriver',
  namespaced: false,
});

export const runtimeClasses = defineResource({
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  shape: 'node.v1.RuntimeClass',
  namespaced: false,
  columns: [nameColumn, column('Handler', 'The runtime that runs its pods.', ({ handler }) => handler), ageColumn],
});

function driversOf(spec: unknown): unknown[] {
  return (spec as { drivers?: unknown[] } | undefined)?.drivers ?? [];
}
