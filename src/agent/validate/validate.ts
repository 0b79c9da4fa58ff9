/**
 * Decides whether a config may be started, before the running kubelet is touched. Each step returns warnings or a rejection;
 * the first rejection is the result.
 *
 *     kubelet probe   the kubelet binary validates it; its answer overrides ours    runs concurrently with decode
 *     own rules       decode and validation as this kubelet version does them       reject only where the kubelet gave no answer
 *     isolation       the node would be cut off
 *     field policy    fields that may not be changed on this host
 *     forecast        passes validation, but the kubelet would exit at start
 */
import type { ConfigErrorReason } from '../../api/config-error.js';
import type { FieldPolicy } from '../../api/field-policy.js';
import { type CheckResult, type Examination, examine, withEffective } from '../../config/check.js';
import { examineOverlay } from '../../config/check-overlay.js';
import { encode } from '../../config/encode.js';
import { type Objection, objections } from '../../config/field-policy.js';
import { fieldsOf } from '../../config/fields.js';
import { flagAt } from '../../config/flags.js';
import { emptyDocument } from '../../config/header.js';
import { type LocalFile, mergeLocal } from '../../config/merge.js';
import {
  type Finding,
  getField,
  type Host,
  type KubeletConfig,
  type Minor,
  newestMinor,
  parseMinor,
} from '../../config/model.js';
import { upgradeCheck } from '../../config/upgrade-check.js';
import type { Document } from '../documents.js';
import { type DividedCommandLine, kubeletArgs } from '../flags.js';
import type { UpgradeReport } from '../report/report.js';
import type { Checkpoint } from '../state/checkpoints.js';
import {
  bounded,
  cutOffs,
  type KubeletProbe,
  type NodeFacts,
  type ProbeResult,
  probeKubelet,
  warningsFor,
} from './steps.js';

/** A config that could run: a checkpoint, or undefined for the local one. */
export interface Candidate {
  checkpoint: Checkpoint | undefined;
  /** What the kubelet would be started with. */
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
  signal: AbortSignal;
}

export interface Validator {
  /** Changes nothing. Never throws for a mistake in a config. */
  validate(candidate: Candidate, options: ValidateOptions): Promise<ValidationResult>;
  /** What the config means to this kubelet and did not mean to one of that version. Absent: nothing can be known. */
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
  /** Where the kubelet will answer /healthz; undefined when the config turns it off. */
  healthz: { host: string; port: number } | undefined;
  /** Where the kubelet will serve; undefined when the config turns it off. */
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
    'ParseFailed' | 'ValidationFailed' | 'StartWouldFail' | 'NodeWouldBeCutOff' | 'FieldPolicyDenied'
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
  nodeFacts(local: KubeletConfig): Promise<NodeFacts>;
  /** The local config as it is now. */
  localFiles(): LocalFile[];
}

/** On the ConfigMap: starts it although relet expects the kubelet to exit at start. */
export const skipForecastAnnotation = 'relet.dev/skip-forecast';
/** On the ConfigMap: fields, separated by commas, that it may set against the isolation checks or the built-in policy. */
export const allowFieldsAnnotation = 'relet.dev/allow-fields';

export function createValidator(parts: ValidatorParts): Validator {
  return {
    validate: (candidate, options) => validate(parts, candidate, options),
    upgrade: async (candidate, from) => riskIn(upgradeFindings(parts, candidate, from)),
  };
}

/** What the steps look at. */
interface Subject {
  parts: ValidatorParts;
  checkpoint: Checkpoint | undefined;
  steps: ValidateOptions['steps'];
  minor: Minor;
  probe: ProbeResult;
  own: CheckResult;
  /** As written, before defaults and flags. */
  document: KubeletConfig;
  /** After defaults and flags. */
  effective: KubeletConfig;
  local: { document: KubeletConfig; effective: KubeletConfig };
  facts: NodeFacts;
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
  const text = checkpoint ? document.text : localText(local, minor);
  const file = document.file ?? parts.commandLine.values.get('config')?.at(-1) ?? 'kubelet.yaml';
  // Started here and awaited last: the kubelet is a process of its own.
  const probing: Promise<ProbeResult> =
    options.steps === 'all'
      ? probeKubelet(parts.probe, kubeletArgs(parts.commandLine, document.file))
      : Promise.resolve({ kind: 'unknown', reason: 'asked before' });
  const examined = examineDocument(parts, candidate, { text, file, minor, local });
  const own = withEffective(examined);
  // The local config is compared with nothing.
  const localSubject = checkpoint ? localConfig(parts, local, minor) : { document: {}, effective: {} };
  const subject: Subject = {
    parts,
    checkpoint,
    steps: options.steps,
    minor,
    own,
    document: (own.effective && examined.document) ?? {},
    // The kubelet accepts it and we cannot read it: the trial decides, with what we know of the defaults.
    effective: own.effective ?? defaultConfig(parts, minor, file),
    local: localSubject,
    facts: checkpoint ? await parts.nodeFacts(localSubject.effective) : { hasStaticPods: false },
    probe: await probing,
  };
  // What an overlay leaves to a local file was there before the overlay.
  const isOfOverlay = ({ file }: Finding) => document.mergedDigest === undefined || file === undefined;
  const warnings = own.findings
    .filter((finding) => finding.severity === 'warning' && isOfOverlay(finding))
    .map(({ path, message }) => `${path}: ${message}`);
  const places = document.mergedDigest === undefined ? [] : placesOf(own);
  for (const step of steps) {
    const result = step(subject);
    if ('reason' in result) return reject({ ...result, messages: [...result.messages, ...places] }, warnings);
    warnings.push(...(result.warnings ?? []));
  }
  return accept(subject, warnings);
}

function kubeletProbe({ probe, own }: Subject): ReturnType<Step> {
  if (probe.kind !== 'rejected') return {};
  // Where the kubelet stopped: reading the file, or validating it.
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

function ownRules({ own, probe, steps }: Subject): ReturnType<Step> {
  if (own.verdict === 'accepted') return {};
  if (probe.kind === 'unknown' && steps === 'all')
    return { reason: own.verdict === 'decode-error' ? 'ParseFailed' : 'ValidationFailed', messages: [own.message] };
  const kubelets = probe.kind === 'accepted' ? ', the kubelet does not' : '';
  return { warnings: [`relet would reject this${kubelets}: ${own.message}`] };
}

function isolation({ checkpoint, effective, local, facts }: Subject): ReturnType<Step> {
  if (checkpoint === undefined) return {};
  const found = cutOffs(effective, local.effective, facts).filter(({ field }) => !isAllowed(checkpoint, field));
  return found.length === 0 ? {} : { reason: 'NodeWouldBeCutOff', messages: found.map(({ message }) => message) };
}

function fieldPolicy({ parts, checkpoint, effective, local, minor }: Subject): ReturnType<Step> {
  if (checkpoint === undefined) return {};
  const mayOverride = ({ field }: Objection) => !parts.policyIsOurs && isAllowed(checkpoint, field);
  const found = objections(parts.policy, effective, local.effective, minor).filter((one) => !mayOverride(one));
  return found.length === 0 ? {} : { reason: 'FieldPolicyDenied', messages: found.map(({ message }) => message) };
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

/** Of a config that only relet would reject, relet knows too little to predict anything. */
function forecast({ parts, checkpoint, own, steps }: Subject): ReturnType<Step> {
  if (own.verdict !== 'accepted') return {};
  const messages = own.findings
    .filter(({ severity, source }) => severity === 'error' && source === 'relet')
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const isSkipped = steps === 'no-probe-no-forecast' || checkpoint?.annotations[skipForecastAnnotation] === 'true';
  if (messages.length === 0 || !parts.forecast || isSkipped) return { warnings: messages };
  return { reason: 'StartWouldFail', messages };
}

/** Where the values come from that relet finds wrong in a merged document. */
function placesOf({ findings }: CheckResult): string[] {
  return findings.flatMap(({ severity, path, line, file = 'the overlay' }) =>
    severity === 'error' && line !== undefined ? [`${path} is set in ${file}, line ${line}`] : [],
  );
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

function examineText(parts: ValidatorParts, text: string, minor: Minor, file?: string): Examination {
  return examine(text, { minor, ...checkParts(parts), lenient: true, ...(file !== undefined && { file }) });
}

function defaultConfig(parts: ValidatorParts, minor: Minor, file?: string): KubeletConfig {
  return withEffective(examineText(parts, emptyDocument, minor, file)).effective ?? {};
}

function checkParts({ commandLine, host }: ValidatorParts): { flags: string[]; host: Host } {
  // The hollow kubelet has a few flags of its own; it validates them itself.
  const flags = commandLine.kubelet.filter(({ name }) => !name.startsWith('hollow-')).flatMap(({ words }) => words);
  return { flags, host };
}

/** Of an overlay: findings point into it, or into the local file. */
function examineDocument(
  parts: ValidatorParts,
  { checkpoint, document }: Candidate,
  { text, file, minor, local }: { text: string; file: string; minor: Minor; local: LocalFile[] },
): Examination {
  if (checkpoint === undefined || document.mergedDigest === undefined) return examineText(parts, text, minor, file);
  const overlay = checkpoint.config.toString('utf8');
  return examineOverlay(overlay, { minor, ...checkParts(parts), lenient: true, local });
}

/** Of what the kubelet would be started with; none for an earlier version, or another release of the same minor. */
function upgradeFindings(parts: ValidatorParts, candidate: Candidate, earlier: string): Finding[] {
  const { checkpoint, document, kubeletVersion } = candidate;
  const [from, to] = [parseMinor(earlier), parseMinor(kubeletVersion)];
  if (from === undefined || to === undefined || from >= to) return [];
  const text = checkpoint ? document.text : localText(parts.localFiles(), to);
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

/** One file stays as it is, with its lines. */
function localText(files: LocalFile[], minor: Minor): string {
  const [first] = files;
  if (files.length === 1 && first?.dropIn !== true) return first!.text;
  try {
    return encode(mergeLocal({ minor, local: files }).config);
  } catch {
    // The kubelet says what is wrong with it.
    return first?.text ?? emptyDocument;
  }
}

function localConfig(parts: ValidatorParts, files: LocalFile[], minor: Minor): Subject['local'] {
  const examined = examineText(parts, localText(files, minor), minor);
  const { effective } = withEffective(examined);
  if (effective === undefined) return { document: {}, effective: defaultConfig(parts, minor) };
  return { document: examined.document ?? {}, effective };
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

/** A server bound to every address is asked on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
