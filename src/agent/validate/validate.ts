/**
 * Decides whether a config may be started, before the running kubelet is touched. Each step returns warnings or a rejection;
 * the first rejection is the result.
 *
 *     kubelet probe   the kubelet binary validates it; its answer overrides ours    runs concurrently with decode
 *     own rules       decode and validation as this kubelet version does them       reject only where the kubelet gave no answer, or
 *                                                                                    where relet cannot read what the kubelet can
 *     isolation       the node would be cut off
 *     field policy    fields that may not be changed on this host
 *     forecast        passes validation, but the kubelet would exit at start
 */
import type { ConfigErrorReason } from '../../api/config-error.js';
import type { FieldPolicy } from '../../api/field-policy.js';
import { allowFieldsAnnotation, type SignatureReason, skipForecastAnnotation } from '../../api/signing.js';
import { type CheckResult, type Examination, withEffective } from '../../config/check.js';
import { placedField } from '../../config/check-overlay.js';
import { type Objection, objections, writtenObjections } from '../../config/field-policy.js';
import { fieldsOf } from '../../config/fields.js';
import { flagAt } from '../../config/flags.js';
import type { LocalFile } from '../../config/merge.js';
import {
  type Finding,
  getField,
  type Host,
  type KubeletConfig,
  type Minor,
  newestMinor,
  parseMinor,
  parsePatch,
} from '../../config/model.js';
import { upgradeCheck } from '../../config/upgrade-check.js';
import type { Document } from '../documents.js';
import { type DividedCommandLine, kubeletArgs } from '../flags.js';
import type { UpgradeReport } from '../report/report.js';
import type { Checkpoint } from '../state/checkpoints.js';
import {
  checkParts,
  defaultConfig,
  examineCandidate,
  type LocalSide,
  localSide,
  localText,
  unreadAt,
} from './sides.js';
import {
  bounded,
  cutOffs,
  type IsolationFacts,
  type KubeletProbe,
  type ProbeResult,
  probeKubelet,
  uncheckedCutOffs,
  warningsFor,
} from './steps.js';

/** A config that could run: a checkpoint, or undefined for the local one. */
export interface Candidate {
  checkpoint: Checkpoint | undefined;
  /** Document that the kubelet would be started with. */
  document: Document;
  /** Such as v1.32.1. */
  kubeletVersion: string;
}

export interface ValidateOptions {
  /**
   * `no-probe`: the kubelet accepted these bytes before, with the same version and flags; our own rules only warn then.
   * `no-probe-no-forecast`: the config has also passed a trial, or it is the local config as the last resort, which is started
   * whatever anybody finds.
   */
  steps: 'all' | 'no-probe' | 'no-probe-no-forecast';
  /** The config is the node's last known good: it is not dropped because relet cannot read the local config. */
  isLastKnownGood?: boolean;
  /** The config is assigned, or about to be. Default: a fallback, which ran before. */
  role?: 'arriving' | 'assigned';
  signal: AbortSignal;
}

export interface Validator {
  /** Changes nothing. Never throws for a mistake in a config. */
  validate(candidate: Candidate, options: ValidateOptions): Promise<ValidationResult>;
  /** Differences in the meaning of the config to a kubelet of that version. Absent: nothing can be known. */
  upgrade?(candidate: Candidate, from: string): Promise<UpgradeResult>;
}

export type UpgradeResult = Pick<UpgradeReport, 'risk' | 'details'>;
export type ValidationResult = Accepted | Rejected;

export interface Accepted {
  kind: 'accepted';
  /** For people: forgotten local values, fields pinned by flags … */
  warnings: string[];
  /** Fields that flags set, whatever this config says about them. */
  pinnedByFlags?: string[];
  /** Address of the kubelet's /healthz; undefined when the config turns it off. */
  healthz: { host: string; port: number } | undefined;
  /** Address of the kubelet's server; undefined when the config turns it off. */
  serves?: { host: string; port: number } | undefined;
  /** The kubelet will run static pods from here. */
  staticPodPath: string | undefined;
  /** The facts about the node on which a config other than the local one was accepted. */
  grounds?: Grounds;
}

export interface Grounds {
  /** The local config's; empty when it has none. */
  staticPodPath: string;
  hasStaticPods: boolean;
  providerID?: string;
}

export interface Rejected {
  kind: 'rejected';
  reason: Extract<
    ConfigErrorReason,
    | 'ParseFailed'
    | 'ValidationFailed'
    | 'CannotBeChecked'
    | 'StartWouldFail'
    | 'HostWouldStarve'
    | 'NodeWouldBeCutOff'
    | 'FieldPolicyDenied'
    | SignatureReason
  >;
  /** For the log: every finding. */
  cause: Error;
  warnings: string[];
}

export interface ValidatorParts {
  commandLine: DividedCommandLine;
  probe: KubeletProbe;
  /** Facts about this machine, on which some rules depend. */
  host: Host;
  policy: FieldPolicy;
  /** A policy file was given: annotations of a ConfigMap do not override it. */
  policyIsOurs: boolean;
  forecast: boolean;
  nodeFacts(local: KubeletConfig): Promise<IsolationFacts>;
  /** The local config as it is now. */
  localFiles(): LocalFile[];
}

export interface ValidatorOptions extends Omit<ValidatorParts, 'host'> {
  /** Facts about this machine, or how they are found out for a candidate. */
  host: Host | ((candidate: Candidate, options: Pick<ValidateOptions, 'steps'>) => Promise<Host>);
}

export function createValidator(options: ValidatorOptions): Validator {
  const { host } = options;
  const partsFor = async (candidate: Candidate, how: Pick<ValidateOptions, 'steps'>): Promise<ValidatorParts> => ({
    ...options,
    host: typeof host === 'function' ? await host(candidate, how) : host,
  });
  return {
    validate: async (candidate, how) => validate(await partsFor(candidate, how), candidate, how),
    upgrade: async (candidate, from) =>
      riskIn(upgradeFindings(await partsFor(candidate, { steps: 'no-probe-no-forecast' }), candidate, from)),
  };
}

/** Input of the steps. */
interface Subject {
  parts: ValidatorParts;
  checkpoint: Checkpoint | undefined;
  steps: ValidateOptions['steps'];
  /** Never accepted before, and not the last known good. */
  isNew: boolean;
  /** Minor of the kubelet; may be newer than the newest that relet knows. */
  minor: Minor;
  /** File that is validated, for messages. */
  file: string;
  probe: ProbeResult;
  own: CheckResult;
  /** As written, before defaults and flags. */
  document: KubeletConfig;
  /** After defaults and flags. */
  effective: KubeletConfig;
  /** Fields that relet does not know. */
  unknown: readonly string[];
  local: LocalSide;
  facts: IsolationFacts;
}

type Step = (subject: Subject) => { warnings?: string[] } | Rejection;
interface Rejection {
  reason: Rejected['reason'];
  messages: string[];
}

const steps: Step[] = [kubeletProbe, ownRules, isolation, fieldPolicy, comparison, forecast];

async function validate(parts: ValidatorParts, candidate: Candidate, options: ValidateOptions) {
  const { checkpoint, document } = candidate;
  const minor = parseMinor(candidate.kubeletVersion) ?? newestMinor;
  const local = parts.localFiles();
  const { commandLine, host } = parts;
  const reader = { commandLine, host, minor, patch: parsePatch(candidate.kubeletVersion) };
  const text = checkpoint ? document.text : localText(local, minor).text;
  const file = document.file ?? parts.commandLine.values.get('config')?.at(-1) ?? 'kubelet.yaml';
  // Started here and awaited last: the kubelet is a process of its own.
  const probing: Promise<ProbeResult> =
    options.steps === 'all'
      ? probeKubelet(parts.probe, kubeletArgs(parts.commandLine, document.file))
      : Promise.resolve({ kind: 'unknown', reason: 'asked before' });
  const examined = examineCandidate(reader, candidate, { text, file, local });
  const own = withEffective(examined);
  // The local config is compared with nothing.
  const localConfig = checkpoint ? localSide(reader, local) : { document: {}, effective: {} };
  const subject: Subject = {
    parts,
    checkpoint,
    steps: options.steps,
    isNew: options.steps === 'all' && options.isLastKnownGood !== true,
    minor,
    file,
    own,
    document: (own.effective && examined.document) ?? {},
    // Only the local config is accepted without being decoded: the known defaults stand in, and the trial decides.
    effective: own.effective ?? defaultConfig(reader, file),
    unknown: examined.unknown,
    local: localConfig,
    facts: checkpoint ? await parts.nodeFacts(localConfig.effective) : { hasStaticPods: false },
    probe: await probing,
  };
  // Values that an overlay leaves to a local file were there before the overlay.
  const isOfOverlay = ({ file }: Finding) => document.mergedDigest === undefined || file === undefined;
  const warnings = own.findings
    .filter((finding) => finding.severity === 'warning' && isOfOverlay(finding))
    // One line for each, also of those that are not listed: bounded() counts lines.
    .flatMap(({ path, message, more = 1 }) => Array<string>(more).fill(`${path}: ${message}`));
  if (parts.probe.none !== undefined && checkpoint !== undefined) warnings.push(parts.probe.none);
  const places = examined.mergedText === undefined ? [] : placesOf(examined);
  for (const step of steps) {
    const result = step(subject);
    if ('reason' in result) return reject({ ...result, messages: [...result.messages, ...places] }, warnings);
    warnings.push(...(result.warnings ?? []));
  }
  return accept(subject, warnings);
}

function kubeletProbe({ probe, own }: Subject): ReturnType<Step> {
  if (probe.kind !== 'rejected') return {};
  // Step at which the kubelet stopped: reading the file, or validating it.
  const isUnreadable = /failed to load kubelet config file|failed to decode|was empty|failed to read/i;
  const messages = [probe.message, ...furtherErrors(own, probe.message)];
  return { reason: isUnreadable.test(probe.message) ? 'ParseFailed' : 'ValidationFailed', messages };
}

/** A kubelet stops at the first wrong flag, or gate: what it would report next. */
function furtherErrors({ findings }: CheckResult, reported: string): string[] {
  return findings
    .filter(
      ({ severity, source, message }) => severity === 'error' && source === 'kubelet' && !reported.includes(message),
    )
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
}

function ownRules({ own, probe, steps, checkpoint, file }: Subject): ReturnType<Step> {
  if (own.verdict === 'accepted') return {};
  if (probe.kind === 'unknown' && steps === 'all')
    return { reason: own.verdict === 'decode-error' ? 'ParseFailed' : 'ValidationFailed', messages: [own.message] };
  // Neither isolation nor field policy can be checked on what relet cannot read.
  if (own.effective === undefined && checkpoint !== undefined) {
    const message = `the kubelet reads this config and relet cannot, so that nothing in it was checked: ${unreadAt(own, file)}`;
    return { reason: 'CannotBeChecked', messages: [message] };
  }
  const kubelets = probe.kind === 'accepted' ? ', the kubelet does not' : '';
  return { warnings: [`relet would reject this${kubelets}: ${own.message}`, ...own.findings.flatMap(ignoredFlag)] };
}

function ignoredFlag({ severity, path }: Finding): string[] {
  if (severity !== 'error' || !path.startsWith('--')) return [];
  return [`${path} is not as relet knows it: the config was checked without it, and what it sets was not compared`];
}

function isolation({ checkpoint, effective, local, facts, isNew }: Subject): ReturnType<Step> {
  if (checkpoint === undefined) return {};
  const isForbidden = ({ field }: Objection) => !isAllowed(checkpoint, field);
  const found = cutOffs(effective, local.effective, facts).filter(isForbidden);
  if (found.length > 0) return { reason: 'NodeWouldBeCutOff', messages: found.map(({ message }) => message) };
  const { unread } = local;
  if (unread === undefined) return {};
  const blind = uncheckedCutOffs(effective, unread).filter(isForbidden);
  const messages = blind.map(({ message }) => message);
  if (isNew && messages.length > 0) return { reason: 'CannotBeChecked', messages };
  return { warnings: [`relet cannot read all of the local config: ${unread.message}`, ...messages] };
}

function fieldPolicy({ parts, checkpoint, effective, unknown, local, minor, isNew }: Subject): ReturnType<Step> {
  if (checkpoint === undefined) return {};
  const { policy, policyIsOurs } = parts;
  const mayOverride = ({ field }: Objection) => !policyIsOurs && isAllowed(checkpoint, field);
  // A kubelet that is newer than relet may know a field that relet does not.
  const sets = minor > newestMinor ? unknown : [];
  const found = [
    ...objections(policy, effective, local.effective, minor),
    ...writtenObjections(policy, { sets, unsets: [] }),
  ].filter((one) => !mayOverride(one));
  if (found.length > 0) return { reason: 'FieldPolicyDenied', messages: found.map(({ message }) => message) };
  const compares = policy.allow !== undefined || policy.deny !== undefined;
  if (!compares || local.unread === undefined) return {};
  const message = `the field policy compares this config with the local one, which relet cannot read: ${local.unread.message}`;
  return isNew ? { reason: 'CannotBeChecked', messages: [message] } : { warnings: [message] };
}

/** Warns of local values that this config drops. */
function comparison({ checkpoint, document, effective, local, minor }: Subject): ReturnType<Step> {
  if (checkpoint === undefined) return {};
  const [candidate, candidateEffective] = [document, effective];
  return {
    warnings: warningsFor({
      minor,
      candidate,
      candidateEffective,
      local: local.document,
      localEffective: local.effective,
    }),
  };
}

/** Skipped if only relet's own rules reject the config: then they are incomplete for this kubelet, and a forecast would be unreliable. */
function forecast({ parts, checkpoint, own, steps }: Subject): ReturnType<Step> {
  if (own.verdict !== 'accepted') return {};
  const found = own.findings.filter(({ severity, source }) => severity === 'error' && source === 'relet');
  const messages = found.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const isSkipped = steps === 'no-probe-no-forecast' || checkpoint?.annotations[skipForecastAnnotation] === 'true';
  if (messages.length === 0 || !parts.forecast || isSkipped) return { warnings: messages };
  return { reason: found.every(({ starvesHost }) => starvesHost) ? 'HostWouldStarve' : 'StartWouldFail', messages };
}

/** Places of the values that relet finds wrong in a merged document. A default has none, so it is the value beside it that is named. */
function placesOf({ result, placeOf }: Examination): string[] {
  const places = result.findings.flatMap((finding) => {
    const { severity, line, file = 'the overlay' } = finding;
    const field = severity === 'error' && line !== undefined ? placedField(finding, placeOf) : undefined;
    return field === undefined ? [] : [`${field} is in ${file}, line ${line}`];
  });
  return [...new Set(places)];
}

function reject({ reason, messages }: Rejection, warnings: string[]): Rejected {
  return { kind: 'rejected', reason, cause: new Error(bounded(messages).join('; ')), warnings: bounded(warnings) };
}

function accept(subject: Subject, warnings: string[]): Accepted {
  const { effective, local, facts, parts, minor, checkpoint } = subject;
  const port = Number(getField(effective, 'healthzPort') ?? 0);
  const host = String(getField(effective, 'healthzBindAddress') || '127.0.0.1');
  const staticPodPath = String(getField(local.effective, 'staticPodPath') ?? '');
  return {
    kind: 'accepted',
    warnings: bounded(warnings),
    pinnedByFlags: pinnedByFlags(parts.commandLine, minor),
    healthz: port === 0 ? undefined : { host: reachable(host), port },
    serves: servingPort(effective),
    staticPodPath: (getField(effective, 'staticPodPath') as string) || undefined,
    ...(checkpoint && { grounds: { staticPodPath, ...facts } }),
  };
}

function isAllowed({ annotations }: Checkpoint, field: string): boolean {
  const allowed = (annotations[allowFieldsAnnotation] ?? '').split(',').map((name) => name.trim());
  return allowed.includes(field);
}

/** Findings about the document that the kubelet would be started with. None for an earlier version, or a release of the same minor. */
function upgradeFindings(parts: ValidatorParts, candidate: Candidate, earlier: string): Finding[] {
  const { checkpoint, document, kubeletVersion } = candidate;
  const [from, to] = [parseMinor(earlier), parseMinor(kubeletVersion)];
  if (from === undefined || to === undefined || from >= to) return [];
  const text = checkpoint ? document.text : localText(parts.localFiles(), to).text;
  const file = document.file ?? parts.commandLine.values.get('config')?.at(-1) ?? 'kubelet.yaml';
  return upgradeCheck(text, { from, to, file, ...checkParts(parts) }).findings;
}

/** The first are enough to see what it is about. */
const mostDetails = 10;

export function riskIn(findings: readonly Finding[]): UpgradeResult {
  const shown = (severity: string) =>
    findings.filter((one) => one.severity === severity).map(({ path, message }) => `${path}: ${message}`);
  const [errors, warnings] = [shown('error'), shown('warning')];
  const all = [...errors, ...warnings];
  const more = all.length > mostDetails ? [`and ${all.length - mostDetails} more`] : [];
  const risk = errors.length > 0 ? 'rejected' : warnings.length > 0 ? 'changes' : 'none';
  return { risk, details: [...all.slice(0, mostDetails), ...more] };
}

function pinnedByFlags({ values }: DividedCommandLine, minor: Minor): string[] {
  const fields = [...values.keys()].map((name) => flagAt(name, minor)?.field ?? '');
  // Some flags are older than their fields.
  const isField = (path: string) => fieldsOf(minor).some((field) => field.path === path);
  return [...new Set(fields)].filter(isField).sort();
}

function servingPort(effective: KubeletConfig): { host: string; port: number } | undefined {
  const port = Number(getField(effective, 'port') ?? 0);
  if (port === 0 || getField(effective, 'enableServer') === false) return undefined;
  return { host: String(getField(effective, 'address') || '0.0.0.0'), port };
}

/** A server that is bound to all addresses is checked on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
