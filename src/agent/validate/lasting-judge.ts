/**
 * Remembers on disk what was accepted and on what grounds, so that the boot of a node at rest, and a change back to a
 * config that is known, need no judging. The judge, with all it knows of every kubelet, is loaded only for what is new.
 */

import { isObject } from '../../json.js';
import { sha256 } from '../state/checkpoints.js';
import { defineRecord, type JsonRecord } from '../state/json-record.js';
import type { Accepted, Candidate, Judge } from './judging.js';

/** Question → answer; the newest last. Only what was accepted is kept: a refusal is worth a second look. */
export type Judged = Record<string, Accepted>;

// Not durable: it can be found out again.
export const validatedRecord = defineRecord('validated', isJudged, { durable: false, formerly: { name: 'judged' } });

export interface LastingJudgeOptions {
  record: JsonRecord<Judged>;
  /** Whatever else an answer depends on, as it is now: flags, local files, the machine, relet itself. As JSON. */
  circumstances(): unknown;
  /** Node.spec.providerID; undefined while unknown. */
  providerID(): string | undefined;
  hasEntries(dir: string): boolean;
  exists(file: string): boolean;
  load(): Promise<Judge>;
}

/** Those that records can name at once, and a few more for whoever goes back and forth. */
const mostAnswers = 8;

export function lastingJudge(options: LastingJudgeOptions): Judge {
  const { record, load } = options;
  let loading: Promise<Judge> | undefined;
  return {
    async judge(candidate, how) {
      const question = questionOf(candidate, options.circumstances());
      const known = record.read()?.[question];
      if (how.history !== 'none' && known !== undefined && stillHolds(known, options)) return known;
      loading ??= load();
      const judgement = await (await loading).judge(candidate, how);
      if (judgement.kind === 'accepted') record.write(withAnswer(record.read(), question, judgement));
      return judgement;
    },
  };
}

function questionOf({ checkpoint, kubeletVersion }: Candidate, circumstances: unknown): string {
  const config = checkpoint && [checkpoint.configFile, checkpoint.digest, checkpoint.annotations];
  return sha256(JSON.stringify([config ?? 'local', kubeletVersion, circumstances]));
}

/** The grounds of an answer may go while the question stays: manifests appear, a copy is deleted. */
function stillHolds({ configFile, grounds }: Accepted, options: LastingJudgeOptions): boolean {
  if (configFile !== undefined && !options.exists(configFile)) return false;
  if (grounds === undefined) return true;
  const providerID = options.providerID();
  // At boot nobody knows it yet; it does not change while a Node lives.
  if (providerID !== undefined && providerID !== grounds.providerID) return false;
  return (grounds.staticPodPath !== '' && options.hasEntries(grounds.staticPodPath)) === grounds.hasStaticPods;
}

function withAnswer(judged: Judged = {}, question: string, answer: Accepted): Judged {
  const others = Object.entries(judged).filter(([other]) => other !== question);
  return Object.fromEntries([...others.slice(1 - mostAnswers), [question, answer]]);
}

function isJudged(value: unknown): value is Judged {
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
