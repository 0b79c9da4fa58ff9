/** PATCH with application/apply-patch+yaml: reads the applied object and plans the change it makes. */

import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import { YamlError } from '../../go/yaml/tokens.js';
import { isObject } from '../../json.js';
import { checkApplied } from '../apply/check-applied.js';
import { conflictError } from '../apply/conflict-error.js';
import { allowedByLastApplied, setLastApplied } from '../apply/last-applied.js';
import { type Manager, readManagers } from '../apply/managers.js';
import type { JsonMap } from '../apply/merge-schema.js';
import { type Applied, ApplyConflicts, afterUpdate, apply, type Write } from '../apply/ownership.js';
import { isSameJson } from '../json-equality.js';
import type { WriteOptions } from '../options.js';
import { normaliseType, readYaml, warningsOf } from '../requests/body.js';
import { DecodeError, type Resource } from '../resource.js';
import { badRequest, conflict, plainInternal } from '../status-error.js';
import type { ChangePlan } from './change.js';
import { mergeSchema, setManagers, withoutManagers, writeOf, writer } from './track-owners.js';
import { about, type VerbRequest } from './verb.js';

export function planApply(request: VerbRequest, body: Buffer, options: WriteOptions, clock: Clock): ChangePlan {
  const { exchange } = request;
  const { value, complaint } = readApplied(body);
  const applied = value as JsonMap;
  let isReported = false;
  return {
    options,
    createsMissing: request.info.subresource === '',
    isApplied: true,
    produce(current) {
      checkPatch(request, applied);
      const object = applyTo(request, applied, options, clock.now(), current);
      if (current === undefined && object.metadata.uid !== undefined) {
        const why = `uid mismatch: the provided object specified uid ${object.metadata.uid}, and no existing object was found`;
        throw conflict(about(request), request.info.name, why);
      }
      if (complaint !== undefined && !isReported && options.fieldValidation !== 'Ignore') {
        if (options.fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${complaint}`);
        for (const line of warningsOf(complaint)) exchange.warn(line);
      }
      isReported = true;
      return object;
    },
  };
}

function readApplied(body: Buffer): { value: unknown; complaint: string | undefined } {
  const convert = 'error converting YAML to JSON: ';
  try {
    const { value, duplicates } = readYaml(body.toString('utf8'));
    const found = value ?? {};
    if (!isObject(found)) throw badRequest('error decoding YAML: an applied object must be a map');
    return { value: found, complaint: duplicates[0] === undefined ? undefined : convert + duplicates[0] };
  } catch (error) {
    if (error instanceof YamlError) throw badRequest(`error decoding YAML: ${convert}${error.message}`);
    throw error;
  }
}

function checkPatch({ resource }: VerbRequest, applied: JsonMap): void {
  const { apiVersion, kind, metadata } = applied as { apiVersion?: unknown; kind?: unknown; metadata?: unknown };
  const parts = (typeof apiVersion === 'string' ? apiVersion : '').split('/');
  const [version = '', group = ''] = parts.reverse();
  const type = parts.length > 2 ? '/, Kind=' : `${group}/${version}, Kind=${typeof kind === 'string' ? kind : ''}`;
  if (type !== typeText(resource)) throw badRequest(`invalid object type: ${type}`);
  if (isObject(metadata) && metadata.managedFields !== undefined && metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problem = checkApplied(applied, mergeSchema(resource));
  if (problem === undefined) return;
  throw plainInternal(`failed to create typed patch object (${subjectText(applied)}; ${type}): ${problem}`);
}

function subjectText({ metadata }: JsonMap): string {
  const { namespace = '', name = '' } = (isObject(metadata) ? metadata : {}) as { namespace?: string; name?: string };
  return `${namespace}/${name}`;
}

function typeText({ group, version, kind }: Resource): string {
  return `${group}/${version}, Kind=${kind}`;
}

function applyTo(
  request: VerbRequest,
  applied: JsonMap,
  options: WriteOptions,
  nowMs: number,
  current: KubeObject | undefined,
): KubeObject {
  const { resource, info } = request;
  const by = writer(request, options.fieldManager, 'Apply', nowMs);
  const stored = readManagers(current?.metadata.managedFields) ?? [];
  const managers = current !== undefined && stored.length === 0 ? firstManagers(request, nowMs, current) : stored;
  const write = writeOf(resource, info.subresource, { live: current, managers, by });
  const result = applyOrMigrate(write, applied, options);
  const object = decodeMerged(resource, result.object, applied);
  if (options.fieldManager === 'kubectl') setLastApplied(object, applied);
  resource.strategy.setDefaults(object);
  if (current === undefined) setManagers(object, result.managers);
  else if (isUnchanged(object, current, result.managers, stored)) setManagers(object, stored);
  else setManagers(object, result.managers);
  return object;
}

/** Fields that were set before the first apply belong to a manager of their own. */
function firstManagers(request: VerbRequest, nowMs: number, current: KubeObject): Manager[] {
  const { resource } = request;
  const { subresource: _, ...by } = writer(request, 'before-first-apply', 'Update', nowMs);
  return afterUpdate(writeOf(resource, '', { live: undefined, managers: [], by }), withoutManagers(current));
}

/** kubectl may take over what it applied itself before there was server-side apply. */
function applyOrMigrate(write: Write, applied: JsonMap, { force, fieldManager }: WriteOptions): Applied {
  try {
    return apply(write, applied, { force });
  } catch (error) {
    if (!(error instanceof ApplyConflicts)) throw error;
    const allowed = fieldManager === 'kubectl' ? allowedByLastApplied(write) : undefined;
    const left = allowed === undefined ? error.conflicts : error.conflicts.filter(({ path }) => !allowed(path));
    if (left.length > 0) throw conflictError(left);
    return apply(write, applied, { force: true });
  }
}

function decodeMerged(resource: Resource, merged: JsonMap, applied: JsonMap): KubeObject {
  try {
    const { object } = resource.decode(merged, 'unstructured');
    normaliseType(object, resource);
    return object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const why = `unable to convert unstructured object to ${typeText(resource)}: ${error.message}`;
    throw plainInternal(
      `failed to convert new object (${subjectText(applied)}; ${typeText(resource)}) to proper version: ${why}`,
    );
  }
}

/** If only the time would change, it is kept. */
function isUnchanged(object: KubeObject, current: KubeObject, after: Manager[], before: Manager[]): boolean {
  if (after.length !== before.length || !isSameJson(object, withoutManagers(current))) return false;
  const withoutTime = ({ time: _, ...rest }: Manager) => JSON.stringify(rest);
  const known = new Set(before.map(withoutTime));
  return after.every((entry) => known.has(withoutTime(entry)));
}
