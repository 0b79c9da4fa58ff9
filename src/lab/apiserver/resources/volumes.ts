/** PersistentVolumes and their claims, stored, without a controller that binds them. */
import type { KubeObject } from '../../../api/object.js';
import { ageColumn, column, nameColumn, wideColumn } from './columns.js';
import { defineResource } from './define.js';

interface VolumeSpec {
  capacity?: Record<string, string>;
  accessModes?: string[];
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  volumeAttributesClassName?: string;
  volumeMode?: string;
  volumeName?: string;
  claimRef?: { namespace?: string; name?: string };
}

interface VolumeStatus {
  phase?: string;
  reason?: string;
  capacity?: Record<string, string>;
  accessModes?: string[];
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as VolumeSpec;
const statusOf = (object: KubeObject) => (object.status ?? {}) as VolumeStatus;
const shortModes: [string, string][] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];

function modesText(modes: string[] = []): string {
  return shortModes.flatMap(([mode, short]) => (modes.includes(mode) ? short : [])).join(',');
}

const phaseColumn = column('Status', 'How far it is.', (object) =>
  object.metadata.deletionTimestamp === undefined ? (statusOf(object).phase ?? '') : 'Terminating',
);
const classColumn = column('StorageClass', 'Its storage class.', (object) => specOf(object).storageClassName ?? '');
const attributesColumn = column('VolumeAttributesClass', 'Its class of attributes.', (object) => {
  return specOf(object).volumeAttributesClassName ?? '<unset>';
});
const modeColumn = wideColumn('VolumeMode', 'Whether it is a file system or a device.', (object) => {
  return specOf(object).volumeMode ?? '<unset>';
});

export const persistentVolumes = defineResource({
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shape: 'core.v1.PersistentVolume',
  namespaced: false,
  shortNames: ['pv'],
  hasStatus: true,
  columns: [
    nameColumn,
    column('Capacity', 'Its size.', (volume) => specOf(volume).capacity?.storage ?? '0'),
    column('Access Modes', 'How it may be mounted.', (volume) => modesText(specOf(volume).accessModes)),
    column('Reclaim Policy', 'What becomes of it without its claim.', (volume) => {
      return specOf(volume).persistentVolumeReclaimPolicy ?? '';
    }),
    phaseColumn,
    column('Claim', 'Whose it is.', (volume) => {
      const { claimRef } = specOf(volume);
      return claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`;
    }),
    classColumn,
    attributesColumn,
    column('Reason', 'Why it is as it is.', (volume) => statusOf(volume).reason ?? ''),
    ageColumn,
    modeColumn,
  ],
  setDefaults(volume) {
    volume.spec = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem', ...specOf(volume) };
  },
  prepareForCreate(volume) {
    volume.status = { phase: 'Pending' };
  },
});

export const persistentVolumeClaims = defineResource({
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shape: 'core.v1.PersistentVolumeClaim',
  namespaced: true,
  shortNames: ['pvc'],
  hasStatus: true,
  columns: [
    nameColumn,
    phaseColumn,
    column('Volume', 'The volume it has.', (claim) => specOf(claim).volumeName ?? ''),
    column('Capacity', 'The size it got.', (claim) =>
      specOf(claim).volumeName ? (statusOf(claim).capacity?.storage ?? '0') : '',
    ),
    column('Access Modes', 'How it may be mounted.', (claim) =>
      specOf(claim).volumeName ? modesText(statusOf(claim).accessModes) : '',
    ),
    classColumn,
    attributesColumn,
    ageColumn,
    modeColumn,
  ],
  setDefaults(claim) {
    claim.spec = { volumeMode: 'Filesystem', ...specOf(claim) };
  },
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
});
