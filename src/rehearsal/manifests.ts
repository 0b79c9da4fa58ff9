/** Reads the manifests of deploy/ as objects. Leaves out Deployments, since rehearsals and `relet up` run the controller themselves. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../api/object.js';
import { CannotRun } from '../cannot-run.js';
import { readPlain } from '../config/plain-document.js';

/** Throws CannotRun when the directory is not there. */
export function readManifests(dir: string): KubeObject[] {
  return manifestsIn(dir)
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').split(/^---$/m))
    .flatMap((text) => (readPlain(text) as KubeObject | undefined) ?? [])
    .filter(({ kind }) => kind !== 'Deployment');
}

function manifestsIn(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
  } catch (error) {
    throw new CannotRun(
      `relet is not installed completely: cannot read its manifests (${(error as Error).message}); install the whole package`,
    );
  }
}
