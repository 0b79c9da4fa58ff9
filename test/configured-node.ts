/** A node as verbs see it, for tests that look at what is made of it: healthy, on its local config, with nothing to tell. */
import type { ConfiguredNode } from '../src/fleet/configured-node.js';

export function configuredNode(name: string, change: Partial<ConfiguredNode> = {}): ConfiguredNode {
  return {
    name,
    labels: { pool: 'blue' },
    createdAt: '2026-02-27T12:00:00Z',
    kubeletVersion: 'v1.32.1',
    ready: 'True',
    heartbeatAt: undefined,
    configSource: undefined,
    status: {},
    reports: true,
    condition: undefined,
    trialEndsAt: undefined,
    pinnedByFlags: undefined,
    warnings: [],
    agentVersion: undefined,
    history: undefined,
    version: '1',
    ...change,
  };
}
