/**
 * Completes paths in a config as the kubelet does: relative paths are resolved against the directory of the file, and a self-signed
 * serving certificate gets a path in the certificate directory.
 */
import { directoryOf, joinPath } from '../go/path.js';
import { fields, isResolvedPath } from './fields.js';
import { getField, type KubeletConfig, type Minor } from './model.js';

/** Makes relative paths absolute, in place. Without a directory to count from they stay as they are. */
export function resolvePaths(config: KubeletConfig, file: string, minor: Minor): void {
  if (!file.includes('/')) return;
  for (const { path } of fields) {
    const value = isResolvedPath(path, minor) ? getField(config, path) : undefined;
    if (typeof value !== 'string' || value === '' || value.startsWith('/')) continue;
    const parts = path.split('.');
    const name = parts.pop()!;
    const parent = parts.reduce((object, part) => object[part] as KubeletConfig, config);
    parent[name] = joinPath(directoryOf(file), value);
  }
}

/** Path of the serving certificate that the kubelet signs itself, if none is given and it may not request one. */
export function placeCertificate(config: KubeletConfig, certDir: string): void {
  if (config.serverTLSBootstrap === true || config.tlsCertFile !== '' || config.tlsPrivateKeyFile !== '') return;
  config.tlsCertFile = joinPath(certDir, 'kubelet.crt');
  config.tlsPrivateKeyFile = joinPath(certDir, 'kubelet.key');
}

/** Whether its certificate is one that placeCertificate would name, so that nobody wrote it. */
export function hasOwnCertificate({ tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap }: KubeletConfig): boolean {
  const [certificate, key] = [String(tlsCertFile ?? ''), String(tlsPrivateKeyFile ?? '')];
  return (
    serverTLSBootstrap !== true && certificate.endsWith('/kubelet.crt') && key === certificate.replace(/crt$/, 'key')
  );
}
