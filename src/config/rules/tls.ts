/**
 * TLS settings that the kubelet applies right after validation: cipher suites, version, curves, the client CA. It exits at the first
 * error.
 */
import { quote } from '../../go/quote.js';
import { nearest } from '../suggest.js';
import { type ConfigView, firstOf, type RuleError } from './config-view.js';

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

export function tlsErrors(view: ConfigView): RuleError[] {
  return firstOf([
    ...suiteErrors(view),
    ...versionErrors(view),
    ...(view.minor >= 36 ? curveErrors(view) : clientCAErrors(view)),
  ]);
}

function suiteErrors(view: ConfigView): RuleError[] {
  const known = () => [...oldSuites, ...tls13Suites, ...longNames].filter((name) => isSuite(name, view.minor));
  return view.list('tlsCipherSuites').flatMap((item, index) => {
    const suite = String(item);
    if (isSuite(suite, view.minor)) return [];
    const meant = index < maxGuesses ? nearest(suite, known()) : undefined;
    return [
      {
        path: `tlsCipherSuites[${index}]`,
        message: `Cipher suite ${suite} not supported or doesn't exist`,
        ...(meant && { remedy: `did you mean ${meant}?` }),
      },
    ];
  });
}

/** Limit of suggestions: each compares with every suite. */
const maxGuesses = 20;

function versionErrors(view: ConfigView): RuleError[] {
  const version = view.text('tlsMinVersion');
  const versions = ['10', '11', '12', ...(view.minor >= 15 ? ['13'] : [])].map((number) => `VersionTLS${number}`);
  if (version === '' || versions.includes(version)) return [];
  const message = `unknown tls version ${quote(version)}`;
  return [{ path: 'tlsMinVersion', message, remedy: `use one of ${versions.join(', ')}` }];
}

function clientCAErrors(view: ConfigView): RuleError[] {
  const path = 'authentication.x509.clientCAFile';
  const ca = view.text(path);
  if (ca === '' || view.host.files?.[ca] !== false) return [];
  return [{ path, message: `unable to load client CA file ${ca}: open ${ca}: no such file or directory` }];
}

/** P-256, P-384, P-521, X25519, and the hybrids of Go 1.26. */
const curves = [23, 24, 25, 29, 4587, 4588, 4589];

function curveErrors(view: ConfigView): RuleError[] {
  const seen = new Set<number>();
  return view.list('tlsCurvePreferences').flatMap((item, index) => {
    const id = Number(item);
    let message: string | undefined;
    if (id <= 0 || id > 65535) message = `curve preference ${id} is out of range (must be 1-65535)`;
    else if (seen.has(id)) message = `duplicate curve preference ${id}`;
    else if (!curves.includes(id)) message = `curve preference ${id} is not supported by the current Go version`;
    seen.add(id);
    return message === undefined ? [] : [{ path: `tlsCurvePreferences[${index}]`, message }];
  });
}
