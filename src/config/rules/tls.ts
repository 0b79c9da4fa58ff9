/** What the kubelet sets up right after validation: cipher suites, TLS version, curves, the client CA. It stops at the first error. */
import { quote } from '../../go/text.js';
import type { ConfigView, RuleError } from './config-view.js';

const oldSuites = `
TLS_RSA_WITH_RC4_128_SHA TLS_RSA_WITH_3DES_EDE_CBC_SHA TLS_RSA_WITH_AES_128_CBC_SHA TLS_RSA_WITH_AES_256_CBC_SHA
TLS_RSA_WITH_AES_128_CBC_SHA256 TLS_RSA_WITH_AES_128_GCM_SHA256 TLS_RSA_WITH_AES_256_GCM_SHA384
TLS_ECDHE_ECDSA_WITH_RC4_128_SHA TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA
TLS_ECDHE_RSA_WITH_RC4_128_SHA TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256
TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305`
  .trim()
  .split(/\s+/);
const tls13Suites = ['TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_256_GCM_SHA384'];
const longNames = ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'];

function isSuite(name: string, minor: number): boolean {
  if (oldSuites.includes(name)) return true;
  return (minor >= 19 && tls13Suites.includes(name)) || (minor >= 23 && longNames.includes(name));
}

export function tlsError(view: ConfigView): RuleError | undefined {
  for (const [index, suite] of view.list('tlsCipherSuites').map(String).entries())
    if (!isSuite(suite, view.minor))
      return { path: `tlsCipherSuites[${index}]`, message: `Cipher suite ${suite} not supported or doesn't exist` };
  const version = view.text('tlsMinVersion');
  const newest = view.minor >= 15 ? 3 : 2;
  if (version !== '' && !new RegExp(`^VersionTLS1[0-${newest}]$`).test(version))
    return { path: 'tlsMinVersion', message: `unknown tls version ${quote(version)}` };
  if (view.minor >= 36) return curveError(view);
  const ca = view.text('authentication.x509.clientCAFile');
  if (ca !== '' && view.host.files?.[ca] === false)
    return {
      path: 'authentication.x509.clientCAFile',
      message: `unable to load client CA file ${ca}: open ${ca}: no such file or directory`,
    };
  return undefined;
}

/** P-256, P-384, P-521, X25519, and the hybrids of Go 1.26. */
const curves = [23, 24, 25, 29, 4587, 4588, 4589];

function curveError(view: ConfigView): RuleError | undefined {
  const seen = new Set<number>();
  for (const [index, id] of view.list('tlsCurvePreferences').map(Number).entries()) {
    let message: string | undefined;
    if (id <= 0 || id > 65535) message = `curve preference ${id} is out of range (must be 1-65535)`;
    else if (seen.has(id)) message = `duplicate curve preference ${id}`;
    else if (!curves.includes(id)) message = `curve preference ${id} is not supported by the current Go version`;
    if (message !== undefined) return { path: `tlsCurvePreferences[${index}]`, message };
    seen.add(id);
  }
  return undefined;
}
