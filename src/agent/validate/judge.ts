/**
 * May this config be started? Asked before the running kubelet is touched, and again at boot: relet's own knowledge of
 * that kubelet version, the kubelet binary itself (its word beats ours), the guards and the field policy, the forecast.
 * The questions stand in judge/.
 */

import { check } from '../../config/check.js';
import { decode } from '../../config/decode.js';
import { fieldsOf } from '../../config/fields.js';
import { flagAt } from '../../config/flags.js';
import { resolvePaths } from '../../config/host-paths.js';
import {
  type Finding,
  getField,
  type Host,
  type KubeletConfig,
  type Minor,
  newestMinor,
  parseMinor,
} from '../../config/model.js';
import { withCauses } from '../../error-causes.js';
import { type DividedCommandLine, kubeletArgs } from '../flags.js';
import { type FieldPolicy, type Objection, objections } from './field-policy.js';
import { cutOffs, type NodeFacts } from './guards.js';
import type { Accepted, Candidate, Grounds, Judge, Judgement, JudgeOptions, Refused } from './judging.js';
import { askKubelet, type KubeletProbe, type KubeletVerdict } from './kubelet-verdict.js';
import { bounded, warningsFor } from './warnings.js';

export interface JudgeParts {
  commandLine: DividedCommandLine;
  probe: KubeletProbe;
  /** What is known of this machine; settles what depends on it. */
  host: Host;
  policy: FieldPolicy;
  /** A policy file was given: annotations of a ConfigMap do not lift what it says. */
  policyIsOurs: boolean;
  forecast: boolean;
  nodeFacts(local: KubeletConfig): NodeFacts;
  /** The local config as one document, drop-ins merged; '' when there is none. */
  localText(minor: Minor): string;
  /** The local file to start with when it is not the kubelet's own --config; undefined otherwise. */
  localFile: string | undefined;
  /** Writes a document that this kubelet can read in place of one it cannot, and gives its path. */
  writeConverted(document: KubeletConfig): string;
}

/** On the ConfigMap: starts it although relet expects the kubelet to die of it. */
export const skipForecastAnnotation = 'relet.dev/skip-forecast';
/** On the ConfigMap: fields, separated by commas, that it may set although the guards or the built-in policy object. */
export const allowFieldsAnnotation = 'relet.dev/allow-fields';

const emptyDocument = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

export function createJudge(parts: JudgeParts): Judge {
  return { judge: (candidate, options) => new Case(parts, candidate, options).judge() };
}

/** One candidate before the judge. */
class Case {
  readonly #parts: JudgeParts;
  readonly #candidate: Candidate;
  readonly #history: JudgeOptions['history'];
  readonly #minor: Minor;
  readonly #warnings: string[] = [];
  #grounds: Grounds | undefined;

  constructor(parts: JudgeParts, candidate: Candidate, { history }: JudgeOptions) {
    this.#parts = parts;
    this.#candidate = candidate;
    this.#history = history;
    this.#minor = parseMinor(candidate.kubeletVersion) ?? newestMinor;
  }

  async judge(): Promise<Judgement> {
    const text = this.#text();
    // Asked first and heard last: the kubelet thinks in a process of its own. What it cannot read is asked about below.
    const early = mayBeAlpha(text) ? undefined : this.#ask(this.#ownFile, false);
    const ours = this.#check(text);
    const document = ours.effective && decode(text, { minor: this.#minor, file: this.#file, strict: false });
    let configFile = this.#ownFile;
    try {
      if (document?.isAlpha) configFile = this.#parts.writeConverted(this.#readable(document.config));
    } catch (error) {
      // The local config has no other way to run; a dynamic one gives way to what ran before.
      if (this.#candidate.checkpoint === undefined) throw error;
      return this.#refuse('InternalError', [withCauses(error)]);
    }
    const theirs = await (early ?? this.#ask(configFile, document?.isAlpha ?? false));
    if (theirs.kind === 'refused') return this.#refuse(faultOf(theirs), [theirs.message]);
    if (ours.verdict !== 'accepted' && theirs.kind === 'unknown' && this.#history === 'none')
      return this.#refuse(ours.verdict === 'decode-error' ? 'ParseFailed' : 'ValidationFailed', [ours.message]);
    // The kubelet takes it and we cannot even read it: let the trial decide, with what we know of the defaults.
    if (ours.verdict !== 'accepted') {
      // The local config is not asked about: it is what is left, and runs whatever anybody says.
      const theirWord = theirs.kind === 'accepted' ? ', the kubelet does not' : '';
      this.#warnings.push(`relet would have refused this${theirWord}: ${ours.message}`);
    }
    const effective = ours.effective ?? this.#check(emptyDocument).effective ?? {};
    return this.#object(effective, document?.config ?? {}, ours.findings) ?? this.#accept(effective, configFile);
  }

  /** Guards, policy and forecast; undefined when none of them objects. */
  #object(effective: KubeletConfig, document: KubeletConfig, findings: Finding[]): Refused | undefined {
    if (this.#candidate.checkpoint !== undefined) {
      const local = this.#localConfig();
      const facts = this.#parts.nodeFacts(local.effective);
      this.#grounds = { staticPodPath: String(getField(local.effective, 'staticPodPath') ?? ''), ...facts };
      const guards = this.#notLifted(cutOffs(effective, local.effective, facts), true);
      if (guards.length > 0)
        return this.#refuse(
          'NodeWouldBeCutOff',
          guards.map(({ message }) => message),
        );
      const against = objections(this.#parts.policy, effective, local.effective, this.#minor);
      const policy = this.#notLifted(against, !this.#parts.policyIsOurs);
      if (policy.length > 0)
        return this.#refuse(
          'FieldPolicyDenied',
          policy.map(({ message }) => message),
        );
      this.#warnings.push(
        ...warningsFor({
          minor: this.#minor,
          candidate: document,
          local: local.document,
          candidateEffective: effective,
          localEffective: local.effective,
        }),
      );
    }
    const foreseen = findings.filter(({ severity, source }) => severity === 'error' && source === 'relet');
    if (foreseen.length === 0) return undefined;
    const messages = foreseen.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    if (!this.#forecastCounts()) {
      this.#warnings.push(...messages);
      return undefined;
    }
    return this.#refuse('StartWouldFail', messages);
  }

  #accept(effective: KubeletConfig, configFile: string | undefined): Accepted {
    const port = Number(getField(effective, 'healthzPort') ?? 0);
    const host = String(getField(effective, 'healthzBindAddress') || '127.0.0.1');
    return {
      kind: 'accepted',
      warnings: bounded(this.#warnings),
      pinnedByFlags: this.#pinnedByFlags(),
      configFile,
      healthz: port === 0 ? undefined : { host: reachable(host), port },
      serves: servingPort(effective),
      staticPodPath: (getField(effective, 'staticPodPath') as string) || undefined,
      ...(this.#grounds && { grounds: this.#grounds }),
    };
  }

  #pinnedByFlags(): string[] {
    const fields = [...this.#parts.commandLine.values.keys()].map((name) => flagAt(name, this.#minor)?.field ?? '');
    // Some flags are older than their fields.
    const isField = (path: string) => fieldsOf(this.#minor).some((field) => field.path === path);
    return [...new Set(fields)].filter(isField).sort();
  }

  #refuse(reason: Refused['reason'], messages: string[]): Refused {
    const cause = new Error(bounded(messages).join('; '));
    return { kind: 'refused', reason, cause, warnings: bounded(this.#warnings) };
  }

  #check(text: string) {
    const { host } = this.#parts;
    const flags = this.#flags();
    const result = check(text, { minor: this.#minor, flags, host, lenient: true, file: this.#file });
    if (text !== emptyDocument)
      this.#warnings.push(
        ...result.findings
          .filter(({ severity }) => severity === 'warning')
          .map(({ path, message }) => `${path}: ${message}`),
      );
    return result;
  }

  /** The hollow kubelet has a few of its own. Whether they are right here, the kubelet says itself. */
  #flags(): string[] {
    const { kubelet } = this.#parts.commandLine;
    return kubelet.filter(({ name }) => !name.startsWith('hollow-')).flatMap(({ words }) => words);
  }

  async #ask(configFile: string | undefined, converted: boolean): Promise<KubeletVerdict> {
    if (this.#history !== 'none' && !converted) return { kind: 'unknown', reason: 'asked before' };
    return askKubelet(this.#parts.probe, kubeletArgs(this.#parts.commandLine, configFile));
  }

  /** As v1beta1, its relative paths written out: the copy stands in another directory. */
  #readable(document: KubeletConfig): KubeletConfig {
    const copy = structuredClone(document);
    resolvePaths(copy, this.#file, this.#minor);
    return { ...copy, apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  }

  #localConfig(): { document: KubeletConfig; effective: KubeletConfig } {
    const text = this.#parts.localText(this.#minor) || emptyDocument;
    const { host } = this.#parts;
    const flags = this.#flags();
    const { effective } = check(text, { minor: this.#minor, flags, host, lenient: true });
    if (effective === undefined) return { document: {}, effective: this.#check(emptyDocument).effective ?? {} };
    return { document: decode(text, { minor: this.#minor, strict: false }).config, effective };
  }

  #notLifted(found: Objection[], mayLift: boolean): Objection[] {
    const annotation = this.#candidate.checkpoint?.annotations[allowFieldsAnnotation] ?? '';
    const lifted = new Set(mayLift ? annotation.split(',').map((field) => field.trim()) : []);
    return found.filter(({ field }) => !lifted.has(field));
  }

  #forecastCounts(): boolean {
    const annotation = this.#candidate.checkpoint?.annotations[skipForecastAnnotation];
    return this.#parts.forecast && this.#history !== 'passed' && annotation !== 'true';
  }

  #text(): string {
    const { checkpoint } = this.#candidate;
    return checkpoint === undefined
      ? this.#parts.localText(this.#minor) || emptyDocument
      : checkpoint.config.toString('utf8');
  }

  get #ownFile(): string | undefined {
    return this.#candidate.checkpoint?.configFile ?? this.#parts.localFile;
  }

  get #file(): string {
    return this.#ownFile ?? this.#parts.commandLine.values.get('config')?.at(-1) ?? 'kubelet.yaml';
  }
}

/** False for certain, true perhaps: YAML has many ways to write a word, and all of them with these letters or an escape. */
function mayBeAlpha(text: string): boolean {
  return text.includes('v1alpha1') || text.includes('\\');
}

/** Where the kubelet stopped: reading the file, or disliking what it says. */
function faultOf({ message }: { message: string }): 'ParseFailed' | 'ValidationFailed' {
  return /failed to load kubelet config file|failed to decode|was empty|failed to read/i.test(message)
    ? 'ParseFailed'
    : 'ValidationFailed';
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
