/**
 * The documents of test/evidence, given to a real kubelet of any version: it accepts and rejects them as relet says. It stops after
 * validation, because it cannot lock its lock file. Needs neither a container runtime nor root:
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.36 npx vitest run test/real-oracle.test.ts
 */
import { describe, expect, test } from 'vitest';
import { check } from '../src/config/check.js';
import { newestMinor } from '../src/config/model.js';
import { newerOracleCases, type OracleDocument, oracleCases } from './evidence/read.js';
import { kubeletBinary, minutes, rejectionBy } from './real-kubelet-rig.js';

const kubelet = kubeletBinary('KUBEBUILDER_ASSETS');
const minor = kubelet?.minor ?? newestMinor;
const title = kubelet?.version ?? 'a real kubelet (skipped: there is no kubelet in KUBEBUILDER_ASSETS)';

/** Documents for any host; those about fields of 1.33 and later only for such kubelets, as they prove little for earlier ones. */
const documents: OracleDocument[] = [...oracleCases(), ...(minor >= 33 ? newerOracleCases() : [])].filter(
  ({ hostDependent }) => hostDependent !== true,
);

/** Kubelets from 1.35 on do not start on a host with cgroup v1 otherwise. */
const flagsFor = ({ payload, flags }: OracleDocument): string[] =>
  minor < 35 || /failCgroupV1|fail-cgroupv1/.test(payload + flags) ? flags : [...flags, '--fail-cgroupv1=false'];

describe.skipIf(kubelet === undefined)(title, { timeout: 30 * minutes }, () => {
  test('accepts and rejects every document as relet says', async () => {
    const wrong: string[] = [];
    for (const document of documents) {
      const flags = flagsFor(document);
      const error = await rejectionBy(kubelet!, document.payload, flags);
      const { message } = check(document.payload, { minor, flags, lenient: true });
      if ((error === undefined) !== (message === ''))
        wrong.push(`${document.id}: ${error ?? 'accepted'}, relet: ${message}`);
    }
    expect(wrong).toEqual([]);
    expect(documents.length).toBeGreaterThan(300);
  });
});
