/**
 * The cache of validation results: a boot with a config that was accepted before is answered from here. The full validator, with
 * the knowledge of every kubelet version, is loaded only for a new question.
 *
 * On disk (meta/validated): accepted results only, the newest 8. Key: SHA-256 of the document's digest, the annotations, the
 * kubelet version, and the circumstances (relet's version, flags, forecast option, field policy, local files, machine). A result
 * is used only where the kubelet need not be asked, and while its grounds still hold: static pods present or not, providerID.
 */
import { isObject } from '../../json.js';
import { sha256 } from '../state/checkpoints.js';
import { defineRecord, type JsonRecord } from '../state/json-record.js';
import type { Accepted, Candidate, Validator } from './validate.js';

/** Key → result; the newest last. */
export type Validated = Record<string, Accepted>;

// Not durable: it can be found out again.
export const validatedRecord = defineRecord('validated', isValidated, { durable: false, formerly: { name: 'judged' } });

export interface CacheOptions {
  record: JsonRecord<Validated>;
  /** Everything else that a result depends on, as it is now, as JSON. */
  circumstances(): unknown;
  /** Node.spec.providerID; undefined while unknown. */
  providerID(): string | undefined;
  hasEntries(dir: string): Promise<boolean>;
  load(): Promise<Validator>;
}

/** Cache size: the configs that records can name at once, and a few more for a node that switches back and forth. */
const mostResults = 8;

export function cached(options: CacheOptions): Validator {
  const { record, load } = options;
  let loading: Promise<Validator> | undefined;
  return {
    async validate(candidate, how) {
      const key = keyOf(candidate, options.circumstances());
      const known = record.read()?.[key];
      if (how.steps !== 'all' && known !== undefined && (await stillHolds(known, options))) return known;
      loading ??= load();
      const result = await (await loading).validate(candidate, how);
      if (result.kind === 'accepted') record.write(withResult(record.read(), key, result));
      return result;
    },
    async upgrade(candidate, from) {
      loading ??= load();
      return (await loading).upgrade!(candidate, from);
    },
  };
}

/** Raised where validation accepts less than before: what was accepted earlier is validated again. */
const rules = 2;

function keyOf({ checkpoint, document, kubeletVersion }: Candidate, circumstances: unknown): string {
  const config = checkpoint && [document.digest, checkpoint.annotations];
  return sha256(JSON.stringify([rules, config ?? 'local', kubeletVersion, circumstances]));
}

async function stillHolds({ grounds }: Accepted, options: CacheOptions): Promise<boolean> {
  if (grounds === undefined) return true;
  const providerID = options.providerID();
  // At boot it is not known yet; it does not change while a Node exists.
  if (providerID !== undefined && providerID !== grounds.providerID) return false;
  const { staticPodPath, hasStaticPods } = grounds;
  return (staticPodPath !== '' && (await options.hasEntries(staticPodPath))) === hasStaticPods;
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
  const { warnings, healthz, serves, staticPodPath, grounds } = value;
  return (
    Array.isArray(warnings) &&
    warnings.every((warning) => typeof warning === 'string') &&
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
