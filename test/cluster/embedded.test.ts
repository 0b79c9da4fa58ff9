/** The cluster suite against relet's own API server, with kubectl from the machine. */
import { describe } from 'vitest';
import { needs } from '../programs.js';
import { embeddedCluster } from './cluster.js';
import { clusterSuite } from './suite.js';

const kubectl = needs('kubectl');

describe.skipIf(kubectl.isMissing)(`on the embedded server${kubectl.note}`, () => {
  clusterSuite({ start: embeddedCluster, kustomization: 'deploy', guards: 'auto', hasRules: true });
});

describe.skipIf(kubectl.isMissing)(`on the embedded server, guarded by roles alone${kubectl.note}`, () => {
  clusterSuite({
    start: embeddedCluster,
    kustomization: 'deploy/base',
    guards: 'roles',
    hasRules: true,
    guardsOnly: true,
  });
});
