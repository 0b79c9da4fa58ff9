/**
 * Validates a NodeConfigSet manifest by its CRD. A separate bundle: plans of sets that are in the cluster do not load schemas and
 * rules.
 */
import { join } from 'node:path';
import type { KubeObject } from '../../api/object.js';
import { setErrors } from '../../rehearsal/check-set.js';
import { readManifests } from '../../rehearsal/manifests.js';

export function firstError(set: KubeObject, deployDir: string): string | undefined {
  return setErrors(set, { manifests: readManifests(join(deployDir, 'base')) })[0];
}
