/** The kubelet's validation, by minor: every rule with the kubelet's own message, all errors at once. */
import { aggregate } from '../go/text.js';
import { Doubts } from './follow-ups.js';
import { type GateError, type Gates, gateErrors, gatesIn, gateWarnings } from './gates.js';
import type { CommandLine, Finding, KubeletConfig, Minor, ValidationContext } from './model.js';
import { checkBounds } from './rules/bounds.js';
import { flagError, flagGateErrors, gatesOfFlags } from './rules/command-line.js';
import { type ConfigView, type RuleError, viewOf } from './rules/config-view.js';
import { checkImageAge, checkImageCollection, checkImageCredentials, checkImagePulls } from './rules/images.js';
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
import {
  checkContainerLogs,
  checkHiddenMetrics,
  checkLogQuery,
  checkRuntimeEndpoint,
  checkTracing,
} from './rules/server.js';
import { checkDefaultSysctls } from './rules/sysctls.js';
import { tlsErrors } from './rules/tls.js';

/** Stage at which the kubelet stops. `gates`, `logging` and `validate` are its validation, `flags` and `dependencies` stages around it. */
export type Stage = 'accepted' | 'flags' | 'gates' | 'logging' | 'validate' | 'dependencies' | 'panic';

export interface Validation {
  stage: Stage;
  /** The error text as this minor prints it, but for errors beyond the first 100 of a field; '' when accepted. */
  message: string;
  /** Findings of all stages, one for each error, with its path; check() adds line and column. An accepted config may have warnings. */
  findings: Finding[];
  /** Paths with an error, and gates that may have been meant. */
  doubtful: string[];
}

/** The rules in the kubelet's order, which is the order of its message. */
const rules: readonly ((view: ConfigView) => void)[] = [
  checkLease,
  checkCgroupsPerQOS,
  checkSystemCgroups,
  (view) => checkBounds(view, ['eventBurst', 'eventRecordQPS', 'healthzPort']),
  checkQuotaPeriod,
  checkImageCollection,
  checkDefaultSysctls,
  checkImageAge,
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

/** Validates the command line alone, before any document is read, as the kubelet does: its feature gates, its node labels. */
export function validateCommandLine(flags: CommandLine, { minor }: { minor: Minor }): Validation {
  const prefix = prefixes(minor);
  const error = flagError(flags, minor);
  return report([
    gateRefusal('gates', flagGateErrors(flags, minor), prefix.gates, () => '--feature-gates'),
    {
      stage: 'flags',
      prefix: prefix.flags,
      errors: error ? [{ path: `--${error.flag}`, message: error.message }] : [],
    },
  ]);
}

/** Validates a config after defaults and flags. */
export function validate(config: KubeletConfig, context: ValidationContext): Validation {
  const layers = [gatesOfFlags(context.flags), gatesIn(config)];
  const view = () => viewOf(config, context);
  const validation = report([...refuseGates(layers, context), ...runStages(view, context.minor)]);
  const isBad = ({ path }: Finding) => validation.doubtful.includes(path);
  for (const warning of warnAboutGates(layers[1]!, context.minor))
    if (!isBad(warning)) validation.findings.push(warning);
  return validation;
}

/** Errors of one stage. Each stage ends the kubelet, so that it reports only the first that rejects something; all of them run here. */
interface Refusal {
  stage: Stage;
  /** Step of the kubelet, in front of its errors. */
  prefix: string;
  errors: readonly RuleError[];
  /** Paths in doubt besides those of the errors. */
  doubtful?: string[];
}

function runStages(view: () => ConfigView, minor: Minor): Refusal[] {
  const prefix = prefixes(minor);
  const whole = view();
  for (const rule of rules) rule(whole);
  const panic: Refusal = { stage: 'panic', prefix: 'panic: ', errors: panicsOnFlush(whole) ? [flushPanic] : [] };
  const validated: Refusal = { stage: 'validate', prefix: prefix.validate, errors: whole.errors };
  const tls: Refusal = { stage: 'dependencies', prefix: prefix.dependencies, errors: tlsErrors(whole) };
  if (minor < 25) return [validated, panic, tls];
  const logging = view();
  checkLogging(logging);
  return [{ stage: 'logging', prefix: prefix.logging, errors: logging.errors }, panic, validated, tls];
}

const flushPanic: RuleError = { path: 'logging.flushFrequency', message: 'non-positive interval for NewTicker' };

/**
 * Bad gates come first. Until 1.14 validation ignores them and the process dies of them right after; since 1.32 the defaults look at
 * the document's own gates and panic.
 */
function refuseGates(layers: readonly Gates[], { minor, document }: ValidationContext): Refusal[] {
  const pathOf = (name: string) => `featureGates[${name}]`;
  const panic = 'panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ';
  return [
    ...(minor >= 32 && document !== undefined
      ? [gateRefusal('panic', gateErrors([layers[0]!, gatesIn(document)], minor), panic, pathOf)]
      : []),
    gateRefusal('gates', gateErrors(layers, minor), prefixes(minor).gates, pathOf),
  ];
}

function gateRefusal(
  stage: Stage,
  errors: readonly GateError[],
  prefix: string,
  pathOf: (name: string) => string,
): Refusal {
  return {
    stage,
    prefix,
    errors: errors.map(({ name, meant: _, ...error }) => ({ path: pathOf(name), ...error })),
    doubtful: errors
      .flatMap(({ name, meant }) => [name, ...(meant ? [meant] : [])])
      .map((name) => `featureGates[${name}]`),
  };
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

/** The stage and the message are those of the first refusal, the findings those of all, without what only follows from another. */
function report(refusals: readonly Refusal[]): Validation {
  const validation: Validation = { stage: 'accepted', message: '', findings: [], doubtful: [] };
  const doubts = new Doubts();
  for (const { stage, prefix, errors, doubtful = [] } of refusals) {
    if (errors.length === 0) continue;
    if (validation.stage === 'accepted') {
      validation.stage = stage;
      validation.message = prefix + aggregate(errors.filter(({ isLater }) => !isLater).map(({ message }) => message));
    }
    const news = errors.filter((error) => !doubts.cover(error));
    for (const path of [...errors.map(({ path }) => path), ...doubtful]) {
      doubts.add(path);
      validation.doubtful.push(path);
    }
    for (const { isLater: _, ...error } of news)
      validation.findings.push({ severity: 'error', source: 'kubelet', ...error });
  }
  return validation;
}
