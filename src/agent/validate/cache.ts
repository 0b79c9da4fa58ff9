/**
 * The cache of validation results. A change is validated once: choosing again for the same change, and booting with it, are
 * answered from here. The full validator, with the knowledge of every kubelet version, is loaded only for a new question.
 *
 * In the process: every result, accepted and rejected, until forget(). Key: digest, ref, annotations, kubelet version, steps.
 * On disk (meta/validated): accepted results only, the newest 8. Key: SHA-256 of config file, digest, annotations, kubelet
 * version, and circumstances (relet's version, flags, forecast option, field policy, local files, machine). Such a result is
 * used only while its config file exists and its grounds still hold: static pods present or not, providerID.
 */
import { isObject } from '../../json.js';
import { sha256 } from '../state/checkpoints.js';
import { defineRecord, type JsonRecord } from '../state/json-record.js';
import type { Accepted, Candidate, ValidateOptions, ValidationResult, Validator } from './validate.js';

/** In the process. */
export class ValidationCache implements Validator {
  readonly #validator: Validator;
  readonly #results = new Map<string, ValidationResult>();
  #underWay = 0;

  constructor(validator: Validator) {
    this.#validator = validator;
  }

  async validate(candidate: Candidate, options: ValidateOptions): Promise<ValidationResult> {
    const { checkpoint, kubeletVersion } = candidate;
    // The local config may be edited at any time.
    if (checkpoint === undefined) return this.#validate(candidate, options);
    const { digest, source, annotations } = checkpoint;
    const key = JSON.stringify([digest, source, annotations, kubeletVersion, options.steps]);
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const result = await this.#validate(candidate, options);
    this.#results.set(key, result);
    return result;
  }

  /** A converted copy of a config that is being validated is not known yet, and must not be garbage-collected. */
  get isValidating(): boolean {
    return this.#underWay > 0;
  }

  /** The files that accepted configs would be started with. */
  get configFiles(): string[] {
    return [...this.#results.values()].flatMap((result) =>
      result.kind === 'accepted' ? (result.configFile ?? []) : [],
    );
  }

  /** A new assignment, a request on the host, or a changed file that a config names: validate again. */
  forget(): void {
    this.#results.clear();
  }

  async #validate(candidate: Candidate, options: ValidateOptions): Promise<ValidationResult> {
    this.#underWay++;
    try {
      return await this.#validator.validate(candidate, options);
    } finally {
      this.#underWay--;
    }
  }
}

/** On disk: key → result; the newest last. */
export type Validated = Record<string, Accepted>;

// Not durable: it can be found out again.
export const validatedRecord = defineRecord('validated', isValidated, { durable: false, formerly: { name: 'judged' } });

export interface DiskCacheOptions {
  record: JsonRecord<Validated>;
  /** Everything else that a result depends on, as it is now, as JSON. */
  circumstances(): unknown;
  /** Node.spec.providerID; undefined while unknown. */
  providerID(): string | undefined;
  hasEntries(dir: string): boolean;
  exists(file: string): boolean;
  load(): Promise<Validator>;
}

/** Those that records can name at once, and a few more for a node that switches back and forth. */
const mostResults = 8;

export function cachedOnDisk(options: DiskCacheOptions): Validator {
  const { record, load } = options;
  let loading: Promise<Validator> | undefined;
  return {
    async validate(candidate, how) {
      const key = keyOf(candidate, options.circumstances());
      const known = record.read()?.[key];
      if (how.steps !== 'all' && known !== undefined && stillHolds(known, options)) return known;
      loading ??= load();
      const result = await (await loading).validate(candidate, how);
      if (result.kind === 'accepted') record.write(withResult(record.read(), key, result));
      return result;
    },
  };
}

function keyOf({ checkpoint, kubeletVersion }: Candidate, circumstances: unknown): string {
  const config = checkpoint && [checkpoint.configFile, checkpoint.digest, checkpoint.annotations];
  return sha256(JSON.stringify([config ?? 'local', kubeletVersion, circumstances]));
}

function stillHolds({ configFile, grounds }: Accepted, options: DiskCacheOptions): boolean {
  if (configFile !== undefined && !options.exists(configFile)) return false;
  if (grounds === undefined) return true;
  const providerID = options.providerID();
  // At boot it is not known yet; it does not change while a Node exists.
  if (providerID !== undefined && providerID !== grounds.providerID) return false;
  return (grounds.staticPodPath !== '' && options.hasEntries(grounds.staticPodPath)) === grounds.hasStaticPods;
}

function withResult(validated: Validated = {}, key: string, result: Accepted): Validated {
  const others = Object.entries(validated).filter(([other]) => other !== key);
  return Object.fromEntries([...others.slice(1 - mostResults), [key, result]]);
}

function isValidated(value: unknown): value is Validated {
  return isObject(value) && Object.values(value).every(isAccepted);
}

function isAccepted(value: unknown): boolean {
  if (!isObject(value) || value.kind !== 'accepted') return false;
  const { warnings, configFile, healthz, serves, staticPodPath, grounds } = value;
  return (
    Array.isArray(warnings) &&
    warnings.every((warning) => typeof warning === 'string') &&
    isTextOrAbsent(configFile) &&
    isTextOrAbsent(staticPodPath) &&
    isPortOrAbsent(healthz) &&
    isPortOrAbsent(serves) &&
    (grounds === undefined || isGrounds(grounds))
  );
}

function isGrounds(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.staticPodPath === 'string' &&
    typeof value.hasStaticPods === 'boolean' &&
    isTextOrAbsent(value.providerID)
  );
}

const isPortOrAbsent = (value: unknown) =>
  value === undefined || (isObject(value) && typeof value.host === 'string' && typeof value.port === 'number');

const isTextOrAbsent = (value: unknown) => value === undefined || typeof value === 'string';
