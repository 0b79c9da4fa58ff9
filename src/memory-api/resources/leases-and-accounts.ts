/** Two small kinds: Leases (heartbeats and leader election) and ServiceAccounts. */

import type { KubeObject } from '../../api/object.js';
import { type FieldError, invalidField } from '../field-error.js';
import { ageColumn, column, nameColumn } from './columns.js';
import { defineResource } from './define.js';

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  leaseTransitions?: number;
}

const specOf = (lease: KubeObject) => (lease.spec ?? {}) as LeaseSpec;

export const leases = defineResource({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  shape: 'coordination.v1.Lease',
  namespaced: true,
  columns: [
    nameColumn,
    column('Holder', 'Who holds it now.', (lease) => specOf(lease).holderIdentity ?? ''),
    ageColumn,
  ],
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: dropElection,
  prepareForUpdate: dropElection,
  validateCreate: validateLease,
  validateUpdate: validateLease,
});

export const serviceAccounts = defineResource({
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  revalidatesMeta: true,
  shape: 'core.v1.ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  deletion: { returnsObject: true },
  subresources: {
    token: { kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1', verbs: ['create'] },
  },
  columns: [
    nameColumn,
    column('Secrets', 'How many secrets it names.', (account) => ((account.secrets ?? []) as unknown[]).length),
    ageColumn,
  ],
});

/** Fields of coordinated leader election, which is off unless a gate is set. */
function dropElection(lease: KubeObject): void {
  const spec = lease.spec as { strategy?: string; preferredHolder?: string } | undefined;
  delete spec?.strategy;
  delete spec?.preferredHolder;
}

function validateLease(lease: KubeObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = specOf(lease);
  return [
    ...(duration !== undefined && duration <= 0
      ? [invalidField('spec.leaseDurationSeconds', duration, 'must be greater than 0')]
      : []),
    ...(transitions !== undefined && transitions < 0
      ? [invalidField('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
      : []),
  ];
}
