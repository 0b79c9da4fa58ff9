/** The kubelet's validation, by minor: every rule with the kubelet's own message, all errors at once. */

import { aggregate } from '../go/text.js';
import { type GateError, type Gates, gateErrors, gatesIn, gateWarnings, isOn, settle } from './gates.js';
import type { CommandLine, Finding, KubeletConfig, Minor, ValidationContext } from './model.js';
import { checkBounds } from './rules/bounds.js';
import { flagError, flagGateErrors, gatesOfFlags } from './rules/command-line.js';
import { ConfigView, type RuleError } from './rules/config-view.js';
import { checkImageCollection, checkImageCredentials, checkImagePulls } from './rules/images.js';
import { checkLogging, panicsOnFlush } from './rules/logging.js';
import {
  checkCertificates,
  checkCrashLoop,
  checkLease,
  checkShutdown,
  checkStatusImages,
  checkSwap,
  checkTaints,
} from './rules/node.js';
import {
  checkCgroupsPerQOS,
  checkEnforcement,
  checkReservedCPUs,
  checkReservedMemory,
  checkSystemCgroups,
} from './rules/node-allocatable.js';
import { checkOS } from './rules/os.js';
import { checkHairpin, checkMemoryQoS, checkQuotaPeriod, checkTopology, checkTopologyGate } from './rules/resources.js';
import { checkContainerLogs, checkHiddenMetrics, checkLogQuery, checkRuntimeEndpoint } from './rules/server.js';
import { tlsError } from './rules/tls.js';
import { checkTracing } from './rules/tracing.js';

/** Where the kubelet stops. `gates`, `logging` and `validate` are its validation, `flags` and `dependencies` stages around it. */
export type Stage = 'accepted' | 'flags' | 'gates' | 'logging' | 'validate' | 'dependencies' | 'panic';

export interface Validation {
  stage: Stage;
  /** The error text as this minor prints it, whole; '' when accepted. */
  message: string;
  /** One for each error, with its path; check() adds line and column. An accepted config may carry warnings. */
  findings: Finding[];
}

/** The rules in the kubelet's order, which is the order of its message. */
const rules: readonly ((view: ConfigView) => void)[] = [
  checkLease,
  checkCgroupsPerQOS,
  checkSystemCgroups,
  (view) => checkBounds(view, ['eventBurst', 'eventRecordQPS', 'healthzPort']),
  checkQuotaPeriod,
  checkImageCollection,
  (view) => checkBounds(view, ['iptablesDropBit', 'iptablesMasqueradeBit', 'kubeAPIBurst', 'kubeAPIQPS']),
  checkStatusImages,
  (view) => checkBounds(view, ['maxOpenFiles', 'maxPods', 'oomScoreAdj', 'podsPerCore', 'port', 'readOnlyPort']),
  (view) => checkBounds(view, ['registryBurst', 'registryPullQPS']),
  checkImagePulls,
  checkCertificates,
  checkTopologyGate,
  checkTaints,
  checkTopology,
  checkShutdown,
  checkSwap,
  checkCrashLoop,
  checkEnforcement,
  checkHairpin,
  checkImageCredentials,
  checkReservedCPUs,
  checkReservedMemory,
  checkOS,
  checkHiddenMetrics,
  (view) => view.minor <= 24 && checkLogging(view),
  checkTracing,
  checkMemoryQoS,
  checkRuntimeEndpoint,
  checkLogQuery,
  checkContainerLogs,
];

const accepted: Validation = { stage: 'accepted', message: '', findings: [] };

/** Validates the command line alone, before any document is read, as the kubelet does: its feature gates, its node labels. */
export function validateCommandLine(flags: CommandLine, { minor }: { minor: Minor }): Validation {
  const gates = flagGateErrors(flags, minor);
  if (gates.length > 0) return refuse('gates', gateProblems(gates, '--feature-gates'), prefixes(minor).gates);
  const error = flagError(flags, minor);
  if (error === undefined) return accepted;
  return refuse('flags', [{ path: `--${error.flag}`, message: error.message }], prefixes(minor).flags);
}

/** Validates a config after defaults and flags. */
export function validate(config: KubeletConfig, context: ValidationContext): Validation {
  const layers = [gatesOfFlags(context.flags), gatesIn(config)];
  const refused = refuseGates(layers, context);
  if (refused !== undefined) return refused;
  const settled = settle(layers, context.minor);
  const view = () => new ConfigView(config, context, (name) => isOn(name, settled, context.minor));
  return runStages(view, context.minor) ?? { ...accepted, findings: warnAboutGates(layers[1]!, context.minor) };
}

/** Each stage ends the kubelet, so only the first that finds something speaks. */
function runStages(view: () => ConfigView, minor: Minor): Validation | undefined {
  const said = prefixes(minor);
  if (minor >= 25) {
    const logging = view();
    checkLogging(logging);
    if (logging.errors.length > 0) return refuse('logging', logging.errors, said.logging);
    if (panicsOnFlush(logging)) return refuse('panic', [flushPanic], 'panic: ');
  }
  const whole = view();
  for (const rule of rules) rule(whole);
  if (whole.errors.length > 0) return refuse('validate', whole.errors, said.validate);
  if (panicsOnFlush(whole)) return refuse('panic', [flushPanic], 'panic: ');
  const tls = tlsError(whole);
  return tls === undefined ? undefined : refuse('dependencies', [tls], said.dependencies);
}

const flushPanic: RuleError = { path: 'logging.flushFrequency', message: 'non-positive interval for NewTicker' };

/**
 * Bad gates come first and alone. Until 1.14 validation ignores them and the process dies of them right after; since 1.32 the
 * defaults look at the document's own gates and panic.
 */
function refuseGates(layers: readonly Gates[], { minor, document }: ValidationContext): Validation | undefined {
  const isDefaulted = document !== undefined && !String(document.apiVersion).endsWith('/__internal');
  if (minor >= 32 && isDefaulted) {
    const errors = gateErrors([layers[0]!, gatesIn(document)], minor);
    const prefix = 'panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ';
    if (errors.length > 0) return refuse('panic', gateProblems(errors, 'featureGates'), prefix);
  }
  const errors = gateErrors(layers, minor);
  return errors.length === 0 ? undefined : refuse('gates', gateProblems(errors, 'featureGates'), prefixes(minor).gates);
}

function gateProblems(errors: readonly GateError[], where: string): RuleError[] {
  return errors.map(({ name, message }) => ({ path: where.startsWith('--') ? where : `${where}[${name}]`, message }));
}

function warnAboutGates(gates: Gates, minor: Minor): Finding[] {
  return gateWarnings(gates, minor).map(({ name, message }) => ({
    severity: 'warning',
    source: 'kubelet',
    path: `featureGates[${name}]`,
    message,
  }));
}

/** Since 1.24 the kubelet returns its errors, wrapped in what it was doing; before, the log line's headline had that. */
function prefixes(minor: Minor) {
  const wraps = (text: string) => (minor >= 24 ? text : '');
  return {
    gates: wraps('failed to set feature gates from initial flags-based config: '),
    flags: wraps('failed to validate kubelet flags: '),
    logging: 'initialize logging: ',
    validate: wraps('failed to validate kubelet configuration, error: '),
    dependencies: wraps('failed to construct kubelet dependencies: '),
  };
}

function refuse(stage: Stage, errors: readonly RuleError[], prefix: string): Validation {
  return {
    stage,
    message: prefix + aggregate(errors.map((error) => error.message)),
    findings: errors.map(({ path, message }) => ({ severity: 'error', source: 'kubelet', path, message })),
  };
}
