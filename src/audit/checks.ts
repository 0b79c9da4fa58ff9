/**
 * The checks of an audit: predicates over the effective config of one kubelet. Their ids in benchmarks are in benchmarks.ts. If a value
 * is unknown, the result is `cannot-tell`, never a pass. Pure.
 */
import { gateAt, isGateOn } from '../config/gates.js';
import { hasOwnCertificate } from '../config/host-paths.js';
import { getField, type KubeletConfig, type Minor } from '../config/model.js';
import type { EffectiveDocument } from '../fleet/effective-document.js';
import { parseDuration } from '../go/duration.js';
import { jsonText } from '../json.js';

export type CheckResult = 'pass' | 'fail' | 'cannot-tell' | 'not-applicable';
export const severities = ['high', 'medium', 'low'] as const;
export type Severity = (typeof severities)[number];

export interface Evaluation {
  result: CheckResult;
  /** The value that decides: `authentication.anonymous.enabled: true`. */
  found: string;
}

export interface Subject {
  document: EffectiveDocument;
  isControlPlane: boolean;
}

export interface Check {
  key: string;
  title: string;
  severity: Severity;
  why: string;
  /** Fields that it checks; empty for flags that are not fields. */
  fields: readonly string[];
  evaluate(subject: Subject): Evaluation;
  /** Values that make it pass; absent where a person has to choose one. */
  fix?: KubeletConfig;
  /** The way where there is no such value. */
  byHand?: string;
}

type Holds = (value: unknown, minor: Minor) => boolean;

/** A check of fields, which cannot tell where a flag sets one of them to a value that is not reported. */
function known(fields: readonly string[], evaluate: Check['evaluate']): Pick<Check, 'fields' | 'evaluate'> {
  return {
    fields,
    evaluate(subject) {
      const hidden = fields.find((path) => subject.document.unknown.includes(path));
      if (hidden === undefined) return evaluate(subject);
      return { result: 'cannot-tell', found: `${hidden}: its flag is set to a value that is not reported` };
    },
  };
}

/** A check of one field. */
const field = (path: string, holds: Holds): Pick<Check, 'fields' | 'evaluate'> =>
  known([path], ({ document: { config, minor } }) => {
    const value = getField(config, path) ?? null;
    return { result: holds(value, minor) ? 'pass' : 'fail', found: `${path}: ${jsonText(value)}` };
  });

const nanosecondsOf = (value: unknown): bigint => (typeof value === 'string' ? parseDuration(value) : 0n);
const minutes = 60_000_000_000n;
const isText: Holds = (value) => typeof value === 'string' && value !== '';

/** Suites that benchmarks name, by both names that Go has for two of them. */
const strongSuites = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
];
const otherNames = ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'];
/** Accepted by the benchmarks of kubelets before 1.32. */
const earlierSuites = ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'TLS_RSA_WITH_AES_128_GCM_SHA256'];

function cipherResult({ document: { config, minor } }: Subject): Evaluation {
  const suites = (config.tlsCipherSuites ?? []) as string[];
  if (config.tlsMinVersion === 'VersionTLS13') return { result: 'pass', found: 'tlsMinVersion: "VersionTLS13"' };
  const allowed = [...strongSuites, ...otherNames, ...(minor < 32 ? earlierSuites : [])];
  const weak = suites.filter((suite) => !allowed.includes(suite));
  if (suites.length === 0) return { result: 'fail', found: 'tlsCipherSuites: [], the list of the Go runtime' };
  return weak.length === 0
    ? { result: 'pass', found: `tlsCipherSuites: ${suites.length} strong suites` }
    : { result: 'fail', found: `tlsCipherSuites: ${weak.join(', ')}` };
}

function certificateResult({ document: { config } }: Subject): Evaluation {
  if (config.serverTLSBootstrap === true) return { result: 'pass', found: 'serverTLSBootstrap: true' };
  if (hasOwnCertificate(config)) return { result: 'fail', found: 'a certificate that the kubelet signs itself' };
  const found = `tlsCertFile: ${jsonText(config.tlsCertFile)}`;
  return { result: isText(config.tlsCertFile, 0) && isText(config.tlsPrivateKeyFile, 0) ? 'pass' : 'fail', found };
}

function gateResult(gate: string, wanted: boolean) {
  return ({ document: { config, minor } }: Subject): Evaluation => {
    if (gateAt(gate, minor) === undefined)
      return { result: 'not-applicable', found: `kubelet 1.${minor} has no such gate` };
    const isOn = isGateOn(gate, (config.featureGates ?? {}) as Record<string, boolean>, minor);
    return { result: isOn === wanted ? 'pass' : 'fail', found: `featureGates[${gate}]: ${isOn}` };
  };
}

function staticPodResult({ document: { config }, isControlPlane }: Subject): Evaluation {
  const found = `staticPodPath: ${jsonText(config.staticPodPath ?? '')}`;
  if (isControlPlane) return { result: 'not-applicable', found: 'a control plane may run as static pods' };
  return { result: config.staticPodPath || config.staticPodURL ? 'fail' : 'pass', found };
}

function hostnameResult({ document: { flags } }: Subject): Evaluation {
  if (flags === undefined) return { result: 'cannot-tell', found: 'flags are not in /configz; an agent reports them' };
  const isSet = flags.includes('hostname-override');
  return { result: isSet ? 'fail' : 'pass', found: `--hostname-override is ${isSet ? '' : 'not '}set` };
}

export const checks: readonly Check[] = [
  {
    key: 'anonymous-auth',
    title: 'Requests without credentials must be rejected',
    severity: 'high',
    why: "Anybody who reaches port 10250 acts as system:anonymous; with AlwaysAllow that is all of the kubelet's API.",
    ...field('authentication.anonymous.enabled', (value) => value === false),
    fix: { authentication: { anonymous: { enabled: false } } },
  },
  {
    key: 'authorization',
    title: 'Requests must be authorized by the API server',
    severity: 'high',
    why: 'With AlwaysAllow, every client that is known may run commands in every container of the node.',
    ...field('authorization.mode', (value) => isText(value, 0) && value !== 'AlwaysAllow'),
    fix: { authorization: { mode: 'Webhook' } },
  },
  {
    key: 'client-ca',
    title: 'Client certificates must be checked against an authority',
    severity: 'high',
    why: 'Without an authority the API server cannot prove to the kubelet who it is.',
    ...field('authentication.x509.clientCAFile', isText),
    byHand: 'set authentication.x509.clientCAFile to the file of the cluster authority on the host',
  },
  {
    key: 'read-only-port',
    title: 'The read-only port must be closed',
    severity: 'high',
    why: 'It shows pods, their specs and metrics to everybody, without authentication.',
    ...field('readOnlyPort', (value) => value === 0 || value === null),
    fix: { readOnlyPort: 0 },
  },
  {
    key: 'idle-timeout',
    title: 'Idle streaming connections must end',
    severity: 'medium',
    why: 'Connections of exec, attach and port-forward that nobody uses stay open, and take ports and memory.',
    ...field('streamingConnectionIdleTimeout', (value) => nanosecondsOf(value) !== 0n),
    fix: { streamingConnectionIdleTimeout: '4h' },
  },
  {
    key: 'idle-timeout-5m',
    title: 'Idle streaming connections must stay open for at least five minutes',
    severity: 'medium',
    why: 'The guide asks for a timeout that is not 0 and not below 5m.',
    ...field('streamingConnectionIdleTimeout', (value) => nanosecondsOf(value) >= 5n * minutes),
    fix: { streamingConnectionIdleTimeout: '5m' },
  },
  {
    key: 'protect-kernel-defaults',
    title: 'The kubelet must not change sysctls of the host',
    severity: 'medium',
    why: 'Otherwise the kubelet overwrites kernel settings that somebody hardened. With it, a host with other values does not start its kubelet.',
    ...field('protectKernelDefaults', (value) => value === true),
    fix: { protectKernelDefaults: true },
  },
  {
    key: 'iptables-util-chains',
    title: 'The kubelet must keep its iptables chains',
    severity: 'low',
    why: 'Rules that nobody keeps in step with the network of the pods fail open or closed.',
    ...field('makeIPTablesUtilChains', (value) => value === true),
    fix: { makeIPTablesUtilChains: true },
  },
  {
    key: 'hostname-override',
    title: 'The node must have the name of its host',
    severity: 'low',
    why: 'Another name than that of the host breaks TLS between API server and kubelet, and makes logs hard to follow. Clouds need it at times.',
    fields: [],
    evaluate: hostnameResult,
    byHand: 'remove --hostname-override from the command line of the kubelet; the Node is then registered again',
  },
  {
    key: 'event-qps',
    title: 'Events must not be dropped',
    severity: 'low',
    why: 'Below five a second, events that explain an incident are lost. 0 means without a limit.',
    ...field('eventRecordQPS', (value) => value === 0 || Number(value ?? 5) >= 5),
    fix: { eventRecordQPS: 50 },
  },
  {
    key: 'serving-certificate',
    title: 'The serving certificate must be from an authority',
    severity: 'medium',
    why: 'Nobody can verify a certificate that the kubelet signs itself, so the connection to it can be intercepted.',
    fields: ['tlsCertFile', 'tlsPrivateKeyFile', 'serverTLSBootstrap'],
    evaluate: certificateResult,
    byHand:
      'set serverTLSBootstrap: true where something in the cluster approves the requests, or place certificate and key on the host',
  },
  {
    key: 'rotate-certificates',
    title: 'The client certificate must be renewed',
    severity: 'medium',
    why: 'A node whose certificate expires can no longer report, and is taken for dead. The default is off.',
    ...field('rotateCertificates', (value) => value === true),
    fix: { rotateCertificates: true },
  },
  {
    key: 'rotate-server-certificates',
    title: 'The kubelet must be able to renew its serving certificate',
    severity: 'medium',
    why: 'With the gate off, a serving certificate from the cluster is used until it expires.',
    ...known(['featureGates'], gateResult('RotateKubeletServerCertificate', true)),
    fix: { featureGates: { RotateKubeletServerCertificate: true } },
  },
  {
    key: 'strong-ciphers',
    title: 'Only strong cipher suites may be offered',
    severity: 'low',
    why: 'Clients may negotiate suites without forward secrecy. TLS 1.3 has no such suites.',
    ...known(['tlsCipherSuites', 'tlsMinVersion'], cipherResult),
    fix: { tlsCipherSuites: strongSuites },
  },
  {
    key: 'pod-pids-limit',
    title: 'The number of processes of a pod must be limited',
    severity: 'medium',
    why: 'One pod that forks without end takes all process ids of the node.',
    ...field('podPidsLimit', (value) => Number(value ?? -1) > 0),
    byHand: 'choose podPidsLimit by what the pods of the pool need; too low a value breaks them',
  },
  {
    key: 'seccomp-default',
    title: 'Pods must run with the seccomp profile of the runtime',
    severity: 'medium',
    why: 'Pods that ask for no profile may use every system call. Some workloads need calls that the profile blocks.',
    ...field('seccompDefault', (value) => value === true),
    fix: { seccompDefault: true },
  },
  {
    key: 'static-pods',
    title: 'Workers must not run static pods',
    severity: 'medium',
    why: 'Who can write a file on the host starts pods past admission and authorization.',
    ...known(['staticPodPath', 'staticPodURL'], staticPodResult),
    byHand: 'unset staticPodPath where nothing of the node runs as a static pod',
  },
  {
    key: 'dynamic-kubelet-config',
    title: 'The gate DynamicKubeletConfig must be off',
    severity: 'medium',
    why: 'Who may change a Node changes its kubelet. relet does not use the gate of the kubelet on any version.',
    ...known(['featureGates'], gateResult('DynamicKubeletConfig', false)),
    fix: { featureGates: { DynamicKubeletConfig: false } },
  },
];
