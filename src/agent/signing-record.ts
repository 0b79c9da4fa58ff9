/**
 * Records of a host that starts only signed configs (docs/signing.md). `signing` exists once the host has had a trust file: the highest
 * floor, and the configs accepted last, since neither expiry nor a lost trust file keeps a node from booting those. `accept-unsigned`
 * is written on the host, and expires.
 */
import { type ExactRef, sameConfig } from '../api/config-ref.js';
import { signaturesAnnotation, statementAnnotation } from '../api/signing.js';
import type { AcceptedBytes, SignedParts } from '../config/signing/decide.js';
import { contentDigest, countedOf, sha256 } from '../config/signing/statement.js';
import { isObject } from '../json.js';
import { previousConfigRecord } from './candidates.js';
import type { Checkpoint } from './state/checkpoints.js';
import { defineRecord } from './state/json-record.js';
import type { NodeState } from './state/node-state.js';

export interface SigningRecord {
  /** The highest floor of a config that became last known good. */
  floor: number;
  /** The newest last. */
  accepted: AcceptedBytes[];
  /** The assignment that was accepted last. One that was rejected since is assigned, and not this. */
  assigned?: string;
}

export const signingRecord = defineRecord('signing', isSigning);

/** Requested by a person on the host: configs need no signature until this time. */
export interface AcceptUnsigned {
  /** UTC seconds. */
  since: number;
  /** UTC seconds. */
  until: number;
  why: string;
  who?: string;
  /** Its event was sent. */
  isReported?: boolean;
}

export const unsignedRecord = defineRecord('accept-unsigned', isAcceptUnsigned);

/** Undefined once it is over. A clock that was set back ends it too. */
export function acceptsUnsigned(state: NodeState, now: number): AcceptUnsigned | undefined {
  const record = state.read(unsignedRecord);
  return record !== undefined && record.since <= now && now < record.until ? record : undefined;
}

const mostAccepted = 10;

/** From now on the host requires signatures. The configs that its records name were accepted before. */
export function requireSignatures(state: NodeState, now: number): SigningRecord {
  const known = state.read(signingRecord);
  if (known !== undefined) return known;
  const accepted = recordedConfigs(state).map(({ content }) => ({ content, at: now }));
  const record = { floor: 0, accepted, ...assignedIn(state) };
  state.write(signingRecord, record);
  return record;
}

/** False if the disk does not take it: then a reboot would not know that it was accepted. `assigned`: of the assignment that it is. */
export function recordAccepted(state: NodeState, accepted: AcceptedBytes, assigned: string | undefined): boolean {
  const record = state.read(signingRecord) ?? { floor: 0, accepted: [] };
  const isSame = (one: AcceptedBytes) => one.content === accepted.content && one.statement === accepted.statement;
  const at = record.accepted.find(isSame)?.at ?? accepted.at;
  const all = [...record.accepted.filter((one) => !isSame(one)), { ...accepted, at }];
  // The last known good stays, however many were accepted since.
  const kept = new Set(recordedConfigs(state).map(({ content }) => content));
  const surplus = all.length - mostAccepted;
  const dropped = new Set(all.filter(({ content }) => !kept.has(content)).slice(0, Math.max(0, surplus)));
  const remaining = all.filter((one) => !dropped.has(one));
  state.write(signingRecord, { ...record, accepted: remaining, ...(assigned !== undefined && { assigned }) });
  return state.record(signingRecord).isWritten;
}

/** An assignment is rejected that was accepted before. */
export function forgetAssigned(state: NodeState, assigned: string): void {
  const record = state.read(signingRecord);
  if (record?.assigned !== assigned) return;
  const { assigned: _, ...rest } = record;
  state.write(signingRecord, rest);
}

/** Names one version of a ConfigMap with its content. */
export const assignmentOf = ({ uid, resourceVersion }: ExactRef, content: string): string =>
  `${uid}/${resourceVersion}/${content}`;

/** The config becomes last known good: its floor is that of the node, unless that is higher. */
export function raiseFloor(state: NodeState, source: ExactRef | undefined): void {
  const record = state.read(signingRecord);
  if (record === undefined || source === undefined) return;
  const floor = acceptedAs(state, digestsAt(state, source))?.floor ?? 0;
  if (floor > record.floor) state.write(signingRecord, { ...record, floor });
}

/** Newest acceptance of a config on this node. */
export function acceptedAs(state: NodeState, digests: SignedDigests | undefined): AcceptedBytes | undefined {
  const { accepted = [] } = state.read(signingRecord) ?? {};
  return accepted.findLast(
    ({ content, statement = digests?.statement }) => content === digests?.content && statement === digests.statement,
  );
}

export interface SignedDigests {
  content: string;
  statement: string | undefined;
}

/** Undefined if the checkpoint cannot be loaded. */
export function digestsAt(state: NodeState, source: ExactRef): SignedDigests | undefined {
  try {
    const { content, statement } = partsOf(state.checkpoints.load(source));
    return { content: contentDigest(content), statement: statement && sha256(statement) };
  } catch {
    return undefined;
  }
}

export function partsOf({ files, binaryKeys, binaryDigests = {}, annotations }: Checkpoint): SignedParts {
  const data = Object.fromEntries([...files].map(([key, bytes]) => [key, sha256(bytes)]));
  const binaryData = Object.fromEntries(binaryKeys.map((key) => [key, binaryDigests[key] ?? 'unknown']));
  return {
    content: { data, binaryData, annotations: countedOf(annotations) },
    statement: annotations[statementAnnotation],
    signatures: annotations[signaturesAnnotation],
  };
}

/** The configs that records name and that can be loaded; others cannot be started either. */
function recordedConfigs(state: NodeState): { source: ExactRef; content: string }[] {
  const records = [state.assigned(), state.lastKnownGood(), { source: state.read(previousConfigRecord) }];
  return records.flatMap((recorded) => {
    if (!('source' in recorded) || recorded.source === undefined) return [];
    const { source } = recorded;
    const content = digestsAt(state, source)?.content;
    return content === undefined ? [] : [{ source, content }];
  });
}

function assignedIn(state: NodeState): Pick<SigningRecord, 'assigned'> {
  const assigned = state.assigned();
  const isAssigned = ({ source }: { source: ExactRef }) =>
    'source' in assigned && sameConfig(source, assigned.source, 'version');
  const found = recordedConfigs(state).find(isAssigned);
  return found === undefined ? {} : { assigned: assignmentOf(found.source, found.content) };
}

function isSigning(value: unknown): value is SigningRecord {
  if (!isObject(value) || !isNumber(value.floor) || !isText(value.assigned)) return false;
  return Array.isArray(value.accepted) && value.accepted.every(isAccepted);
}

function isAccepted(value: unknown): value is AcceptedBytes {
  if (!isObject(value) || typeof value.content !== 'string' || !isNumber(value.at)) return false;
  const { statement, serial, floor, notAfter, signers } = value;
  return (
    isText(statement) &&
    [serial, floor, notAfter].every((number) => number === undefined || isNumber(number)) &&
    (signers === undefined || (Array.isArray(signers) && signers.every((name) => typeof name === 'string')))
  );
}

function isAcceptUnsigned(value: unknown): value is AcceptUnsigned {
  return isObject(value) && isNumber(value.since) && isNumber(value.until) && typeof value.why === 'string';
}

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
