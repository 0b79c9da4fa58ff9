/** Forecast for what the kubelet listens on or connects to: addresses, ports, TLS, authorization, the container runtime. */
import { quote } from '../../go/quote.js';
import { goUrlError, schemeOf } from '../../go/url.js';
import type { Outlook } from './outlook.js';

export function forecastServing(outlook: Outlook): void {
  const { view } = outlook;
  const serves = view.get('enableServer') !== false;
  if (serves) {
    forecastCiphers(outlook);
    forecastCertificate(outlook);
  }
  if (serves || view.number('readOnlyPort') > 0) forecastAddress(outlook);
  forecastPorts(outlook, serves);
  forecastAuthorization(outlook);
  if (view.minor >= 27)
    for (const field of ['containerRuntimeEndpoint', 'imageServiceEndpoint']) forecastEndpoint(outlook, field);
}

const required = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'];
const isApproved = (suite: string) => /^TLS_(ECDHE_\w+_WITH_)?(AES_\d+_GCM|CHACHA20)_/.test(suite);

/** Go's HTTP/2 server rejects a list without the cipher suite that the protocol requires; since Go 1.17 not with TLS 1.3. */
function forecastCiphers(outlook: Outlook): void {
  const { view } = outlook;
  const suites = view.list('tlsCipherSuites').map(String);
  const isOldGo = view.minor <= 22;
  if (suites.length === 0 || (!isOldGo && view.text('tlsMinVersion') === 'VersionTLS13')) return;
  const firstBad = suites.findIndex((suite) => !isApproved(suite));
  const misplaced = firstBad < 0 ? undefined : suites.slice(firstBad).find(isApproved);
  if (isOldGo && misplaced !== undefined)
    outlook.stops('tlsCipherSuites', {
      why: `${misplaced} comes after ${suites[firstBad]}, which HTTP/2 does not approve`,
      remedy: 'list the ECDHE suites with GCM or CHACHA20 first',
    });
  else if (!suites.some((suite) => required.includes(suite)))
    outlook.stops('tlsCipherSuites', {
      why: 'the list lacks a cipher suite that HTTP/2 requires',
      says: 'http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher',
      remedy: `add ${required.join(' or ')}`,
    });
}

function forecastCertificate(outlook: Outlook): void {
  const { view } = outlook;
  const [certificate, key] = ['tlsCertFile', 'tlsPrivateKeyFile'].map((field) => view.text(field));
  const lacking = certificate === '' ? 'tlsCertFile' : 'tlsPrivateKeyFile';
  if ((certificate === '') !== (key === '')) {
    const why = `of tlsCertFile and tlsPrivateKeyFile only one is set`;
    if (view.minor <= 35) outlook.stops(lacking, { why, remedy: 'set both or neither' });
    else outlook.warn(lacking, `${why}: the kubelet runs without a serving certificate; set both or neither`);
  }
  for (const [field, since] of [
    ['tlsCertFile', 11],
    ['tlsPrivateKeyFile', 11],
    ['authentication.x509.clientCAFile', 36],
  ] as const)
    if (view.minor >= since && view.host.files?.[view.text(field)] === false)
      outlook.stops(field, {
        why: `there is no file ${view.text(field)} on the host`,
        says: `open ${view.text(field)}: no such file or directory`,
        remedy: 'put the file there first, or name one that exists',
      });
}

function forecastAddress(outlook: Outlook): void {
  const address = outlook.view.text('address');
  if (address === '' || isAddress(address)) return;
  outlook.stops('address', {
    why: `${quote(address)} is not a valid IP address`,
    says: 'listen tcp: lookup <nil>',
    remedy: 'write an address of the node, or 0.0.0.0 for all of them',
  });
}

/** As Go reads one; leading zeros are allowed. */
export function isAddress(text: string): boolean {
  if (/^\d{1,}(\.\d{1,}){3}$/.test(text)) return text.split('.').every((part) => Number(part) <= 255);
  return /^[\da-f:.]+$/i.test(text) && text.includes(':') && URL.canParse(`http://[${text}]/`);
}

function forecastPorts(outlook: Outlook, serves: boolean): void {
  const { view } = outlook;
  const [port, readOnly, healthz] = ['port', 'readOnlyPort', 'healthzPort'].map((field) => view.number(field));
  if (serves && port === readOnly)
    outlook.stops('readOnlyPort', {
      why: `port and readOnlyPort are both ${port}`,
      says: `listen tcp: bind: address already in use`,
      remedy: 'give them different ports, or set readOnlyPort to 0',
    });
  else if (healthz !== 0 && ((serves && healthz === port) || healthz === readOnly))
    outlook.warn(
      'healthzPort',
      `healthzPort ${healthz} is taken by another port of this config: whichever server comes second fails, and the kubelet may exit; give it a port of its own`,
    );
}

function forecastAuthorization(outlook: Outlook): void {
  const mode = outlook.view.text('authorization.mode');
  if (mode === 'AlwaysAllow' || mode === 'Webhook') return;
  outlook.stops('authorization.mode', {
    why: `${quote(mode)} is not a valid authorization mode`,
    says: `unknown authorization mode ${mode}`,
    remedy: 'use Webhook or AlwaysAllow',
  });
}

/** The runtime is reached by a unix socket; a bare path is read as one. */
function forecastEndpoint(outlook: Outlook, field: string): void {
  const endpoint = outlook.view.text(field);
  if (endpoint === '' || outlook.view.host.os === 'windows') return;
  const isReadable = goUrlError(endpoint) === undefined;
  const scheme = isReadable ? schemeOf(endpoint) : '';
  if (scheme === 'unix' || (scheme === '' && goUrlError(`unix://${endpoint}`) === undefined)) return;
  outlook.stops(field, {
    why: `${quote(endpoint)} is not a valid unix socket`,
    ...(scheme === ''
      ? {}
      : { says: scheme === 'tcp' ? 'only support unix socket endpoint' : `protocol ${quote(scheme)} not supported` }),
    remedy: 'write unix:// and the path of the socket',
  });
}
