/**
 * The cluster suite against a real kube-apiserver: KUBEBUILDER_ASSETS names the directory of etcd and kube-apiserver, as
 * setup-envtest makes it. `npm run test:cluster`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realCluster } from './cluster.js';
import { clusterSuite } from './suite.js';

const assets = process.env.KUBEBUILDER_ASSETS ?? '';
const isThere = assets !== '' && ['etcd', 'kube-apiserver'].every((name) => existsSync(join(assets, name)));
const version = isThere ? execFileSync(join(assets, 'kube-apiserver'), ['--version'], { encoding: 'utf8' }).trim() : '';
const minor = Number(/v1\.(\d+)/.exec(version)?.[1] ?? 0);

describe.skipIf(!isThere)(
  `on ${version || 'a real API server (skipped: KUBEBUILDER_ASSETS names no directory with etcd and kube-apiserver)'}`,
  () => {
    if (minor >= 30) {
      const start = () => realCluster(assets);
      clusterSuite({ start, kustomization: 'deploy', guards: 'auto', hasRules: true });
    } else
      clusterSuite({
        start: () => realCluster(assets),
        kustomization: 'deploy/base',
        guards: 'auto',
        hasRules: minor >= 25,
      });
    test('it is a server that relet knows', () => expect(minor).toBeGreaterThanOrEqual(16));
  },
);
