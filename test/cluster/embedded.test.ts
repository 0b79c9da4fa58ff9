/** The cluster suite against relet's own API server, with kubectl from the machine. */
import { spawnSync } from 'node:child_process';
import { describe } from 'vitest';
import { embeddedCluster } from './cluster.js';
import { clusterSuite } from './suite.js';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

describe.skipIf(!hasKubectl)('on the embedded server (skipped where there is no kubectl)', () => {
  clusterSuite({ start: embeddedCluster, kustomization: 'deploy', guards: 'auto', hasRules: true });
});

describe.skipIf(!hasKubectl)(
  'on the embedded server, guarded by roles alone (skipped where there is no kubectl)',
  () => {
    clusterSuite({ start: embeddedCluster, kustomization: 'deploy/base', guards: 'roles', hasRules: true });
  },
);
