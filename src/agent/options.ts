/**
 * relet's own flags on the node: each with a sentence, a default and a range. Everything else on the command line is the
 * kubelet's. docs/node-flags.md is checked against this list.
 */

import { defaultTrustFile } from '../api/signing.js';
import { tryParseDuration } from '../go/duration.js';
import { type BindAddress, parseBindAddress } from '../metrics.js';
import type { RestartLimit } from './sync/change-pace.js';

export interface NodeOptions {
  dynamicConfigDir: string | undefined;
  kubeletBinary: string;
  onChange: 'restart' | 'exit';
  trialMs: number;
  trialHealthDeadlineMs: number;
  trialFailedStarts: number;
  inPlaceJitterMs: number;
  restartLimit: RestartLimit;
  forecast: boolean;
  fieldPolicyFile: string | undefined;
  trustFile: string;
  initConfigDir: string | undefined;
  metricsAddress: BindAddress | undefined;
  metricsSecureAddress: BindAddress | undefined;
  metricsCertFile: string | undefined;
  metricsKeyFile: string | undefined;
  logFormat: 'text' | 'json';
  check: boolean;
}

export interface OwnFlag {
  /** Absent for a flag that stands alone. */
  value?: string;
  default: string;
  help: string;
}

export const ownFlags = {
  'dynamic-config-dir': {
    value: 'DIR',
    default: '',
    help: 'Where checkpoints and records are kept. Without it relet is exactly the kubelet.',
  },
  'kubelet-binary': {
    value: 'PATH',
    default: 'kubelet',
    help: "The kubelet to run: a path, a name looked up in PATH, or 'hollow' for the built-in stand-in.",
  },
  'on-change': {
    value: 'restart|exit',
    default: 'restart',
    help: "What to do when the config changes: 'restart' the kubelet, or 'exit' with 0 and let the service manager start relet again (needs Restart=always).",
  },
  'trial-duration': {
    value: 'DURATION',
    default: '10m',
    help: 'How long a config must be healthy until it becomes the last known good.',
  },
  'trial-health-deadline': {
    value: 'DURATION',
    default: '60s',
    help: 'How long a kubelet may take to become healthy with a new config before relet rolls back.',
  },
  'trial-failed-starts': {
    value: 'N',
    default: '3',
    help: 'How many failed starts in a row make relet go back.',
  },
  'in-place-jitter': {
    value: 'DURATION',
    default: '0s',
    help: 'Spreads an in-place edit of a shared ConfigMap: each node waits up to this long, by chance.',
  },
  'restart-burst': {
    value: 'N',
    default: '10',
    help: 'How many kubelet restarts with newly assigned configs are free at once.',
  },
  'restart-interval': {
    value: 'DURATION',
    default: '10s',
    help: 'Time in which one more is free; until then the restart waits, the change is validated and reported. 0s for no limit.',
  },
  'max-restart-delay': { value: 'DURATION', default: '', help: 'Former name of --restart-interval.' },
  'no-forecast': { default: 'false', help: 'Starts configs that relet expects to stop the kubelet at its start.' },
  'field-policy': {
    value: 'FILE',
    default: '',
    help: 'Which fields a dynamic config may change here; replaces the built-in policy (docs/field-policy.md).',
  },
  'trust-file': {
    value: 'FILE',
    default: defaultTrustFile,
    help: 'Where the host names the keys that must sign a config before it is started. Without the file none is needed (docs/signing.md).',
  },
  'init-config-dir': {
    value: 'DIR',
    default: '',
    help: "The alpha's local config: a file named 'kubelet' in this directory, used instead of --config.",
  },
  'metrics-bind-address': {
    value: 'HOST:PORT',
    default: '127.0.0.1:10269',
    help: "Where relet serves its metrics; '0' turns it off.",
  },
  'metrics-secure-bind-address': {
    value: 'HOST:PORT',
    default: '0',
    help: "Where relet serves its metrics over TLS, to tokens that may 'get' /metrics; '0' turns it off.",
  },
  'metrics-tls-cert-file': {
    value: 'FILE',
    default: '',
    help: "The certificate for that; without it the kubelet's own serving certificate, from its --cert-dir.",
  },
  'metrics-tls-private-key-file': { value: 'FILE', default: '', help: 'The key of that certificate.' },
  'log-format': {
    value: 'text|json',
    default: 'text',
    help: "How relet writes its own log lines; the kubelet's are its own.",
  },
  check: { default: 'false', help: 'Says what relet would do with this command line, and exits.' },
} as const satisfies Record<string, OwnFlag>;

export type OwnFlagName = keyof typeof ownFlags;

export const ownBooleans = Object.entries<OwnFlag>(ownFlags)
  .filter(([, flag]) => flag.value === undefined)
  .map(([name]) => name);

export function isOwnFlag(name: string): name is OwnFlagName {
  return Object.hasOwn(ownFlags, name);
}

/** Throws an Error that names the flag, what is wrong with its value and what would be right. */
export function readOptions(given: ReadonlyMap<string, readonly string[]>): NodeOptions {
  const text = (name: OwnFlagName) => given.get(name)?.at(-1) ?? ownFlags[name].default;
  const optional = (name: OwnFlagName) => text(name) || undefined;
  const formerly = (name: OwnFlagName, former: OwnFlagName): [OwnFlagName, string] =>
    given.has(former) && !given.has(name) ? [former, text(former)] : [name, text(name)];
  return {
    dynamicConfigDir: optional('dynamic-config-dir'),
    kubeletBinary: text('kubelet-binary'),
    onChange: oneOf('on-change', text('on-change'), ['restart', 'exit']),
    trialMs: duration('trial-duration', text('trial-duration')),
    trialHealthDeadlineMs: duration('trial-health-deadline', text('trial-health-deadline')),
    trialFailedStarts: positive('trial-failed-starts', text('trial-failed-starts')),
    inPlaceJitterMs: duration('in-place-jitter', text('in-place-jitter')),
    restartLimit: {
      burst: positive('restart-burst', text('restart-burst')),
      intervalMs: duration(...formerly('restart-interval', 'max-restart-delay')),
    },
    forecast: !boolean('no-forecast', text('no-forecast')),
    fieldPolicyFile: optional('field-policy'),
    trustFile: text('trust-file'),
    initConfigDir: optional('init-config-dir'),
    metricsAddress: address('metrics-bind-address', text('metrics-bind-address')),
    metricsSecureAddress: address('metrics-secure-bind-address', text('metrics-secure-bind-address')),
    metricsCertFile: optional('metrics-tls-cert-file'),
    metricsKeyFile: optional('metrics-tls-private-key-file'),
    logFormat: oneOf('log-format', text('log-format'), ['text', 'json']),
    check: boolean('check', text('check')),
  };
}

function invalid(name: OwnFlagName, value: string, remedy: string): never {
  throw new Error(`--${name}=${value}: ${remedy}`);
}

function oneOf<T extends string>(name: OwnFlagName, value: string, choices: readonly T[]): T {
  return choices.find((choice) => choice === value) ?? invalid(name, value, `must be ${choices.join(' or ')}`);
}

function boolean(name: OwnFlagName, value: string): boolean {
  return oneOf(name, value, ['true', 'false']) === 'true';
}

function positive(name: OwnFlagName, value: string): number {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : invalid(name, value, 'must be a whole number above 0');
}

function duration(name: OwnFlagName, value: string): number {
  const nanoseconds = tryParseDuration(value);
  if (nanoseconds === undefined || nanoseconds < 0n)
    invalid(name, value, 'must be a duration such as 90s, 10m or 1h30m');
  return Number(nanoseconds! / 1_000_000n);
}

function address(name: OwnFlagName, value: string): BindAddress | undefined {
  if (value === '0' || value === '') return undefined;
  const remedy = "must be HOST:PORT, such as 127.0.0.1:10269, or '0' for none";
  return parseBindAddress(value) ?? invalid(name, value, remedy);
}
