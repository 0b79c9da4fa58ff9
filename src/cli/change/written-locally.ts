/**
 * What a node's local config says, as far as the API shows it: what runs (`/configz`) without the kubelet's defaults, and
 * without what is true of one host only: values of its flags, and what its kubelet fills in by itself. Pure.
 */
import { dirname } from 'node:path';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';
import { withSetting } from '../../config/set-field.js';
import { withoutDefaults } from '../../config/without-defaults.js';

/** The kubelet's own --cert-dir, unless a flag says otherwise. */
const defaultCertDir = '/var/lib/kubelet/pki';

export interface WrittenLocally {
  document: KubeletConfig;
  /** Left out for their names alone: a local config could name the same files. */
  assumed: string[];
}

export function writtenLocally(running: KubeletConfig, pinned: readonly string[], minor: Minor): WrittenLocally {
  const pair = ownCertificate(running);
  // Gates of a flag are merged into those of the file, and the API does not show which are which.
  const hostOnly = ['providerID', ...pair, ...pinned.filter((path) => path !== 'featureGates')];
  const document = hostOnly
    .filter((path) => getField(running, path) !== undefined)
    .reduce((kept, path) => withSetting(kept, { path: path.split('.'), value: undefined }), running);
  const isAssumed = pair.length > 0 && dirname(String(running.tlsCertFile)) !== defaultCertDir;
  return { document: withoutDefaults(document, minor), assumed: isAssumed ? pair : [] };
}

/** Where no certificate is named, the kubelet makes kubelet.crt and kubelet.key in its --cert-dir and names those. */
function ownCertificate({ tlsCertFile, tlsPrivateKeyFile }: KubeletConfig): string[] {
  const [cert, key] = [String(tlsCertFile ?? ''), String(tlsPrivateKeyFile ?? '')];
  const isOwn = cert.endsWith('/kubelet.crt') && key === cert.replace(/crt$/, 'key');
  return isOwn ? ['tlsCertFile', 'tlsPrivateKeyFile'] : [];
}
