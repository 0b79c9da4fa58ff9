/** Metadata of objects of any kind: system fields, and validation with the messages of Kubernetes. */
import { checkDnsLabel, checkLabelValue, checkPathSegment, checkQualifiedName, type NameRule } from '../api/names.js';
import type { KubeObject, ObjectMeta, OwnerReference } from '../api/object.js';
import { rfc3339 } from '../clock.js';
import { quote } from '../go/quote.js';
import type { Random } from '../random.js';
import { type FieldError, forbiddenField, invalidField, requiredField, tooLongField } from './field-error.js';
import { isCustom, type Resource } from './resource.js';

const maxAnnotationBytes = 256 << 10;
/** No vowels and no look-alikes, so that no words come out. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxGeneratedPrefix = 63 - suffixLength;

/** Sets the fields that only the server sets on create; values from the client are dropped. */
export function fillSystemFields(object: KubeObject, nowMs: number, random: Random): void {
  const { metadata } = object;
  metadata.uid = random.uuid();
  metadata.creationTimestamp = rfc3339(nowMs);
  delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete (metadata as { selfLink?: string }).selfLink;
}

export function generateName(prefix: string, random: Random): string {
  let suffix = '';
  for (const byte of random.bytes(suffixLength)) suffix += suffixAlphabet[byte % suffixAlphabet.length];
  return prefix.slice(0, maxGeneratedPrefix) + suffix;
}

/** On create. The kind's own rule for names applies. */
export function validateNewMeta(object: KubeObject, resource: Resource): FieldError[] {
  return [
    ...validateMeta(object.metadata, resource.namespaced, resource.strategy.nameRule),
    // Custom resources may have finalizers of any name.
    ...(isCustom(resource) ? [] : validateBareFinalizers(object.metadata.finalizers ?? [])),
  ];
}

/** On update, the way Kubernetes does it: the common check, then the kind's own, which repeats the second half. */
export function validateChangedMeta(object: KubeObject, old: KubeObject, resource: Resource): FieldError[] {
  const changed = validateChange(object.metadata, old.metadata);
  const common = validateMeta(object.metadata, resource.namespaced, checkPathSegment);
  const bare = isCustom(resource) ? [] : validateBareFinalizers(object.metadata.finalizers ?? []);
  const whole = resource.strategy.revalidatesMeta ? validateNewMeta(object, resource) : [];
  return [...common, ...changed, ...changed, ...bare, ...whole];
}

function validateMeta(metadata: ObjectMeta, namespaced: boolean, nameRule: NameRule): FieldError[] {
  const errors: FieldError[] = [];
  const { generateName: prefix = '', name = '', namespace = '', generation = 0 } = metadata;
  if (prefix !== '') {
    for (const why of nameRule(prefix, true)) errors.push(invalidField('metadata.generateName', prefix, why));
  }
  if (name === '') errors.push(requiredField('metadata.name', 'name or generateName is required'));
  else for (const why of nameRule(name, false)) errors.push(invalidField('metadata.name', name, why));
  if (!namespaced && namespace !== '') errors.push(forbiddenField('metadata.namespace', 'not allowed on this type'));
  else if (namespaced && namespace === '') errors.push(requiredField('metadata.namespace'));
  else if (namespaced) {
    for (const why of checkDnsLabel(namespace)) errors.push(invalidField('metadata.namespace', namespace, why));
  }
  if (generation < 0) {
    errors.push(invalidField('metadata.generation', generation, 'must be greater than or equal to 0'));
  }
  return [...errors, ...validateFreeParts(metadata), ...validateFinalizers(metadata.finalizers ?? [])];
}

function validateFreeParts(metadata: ObjectMeta): FieldError[] {
  return [
    ...validateLabels(metadata.labels ?? {}),
    ...validateAnnotations(metadata.annotations ?? {}),
    ...validateOwners(metadata.ownerReferences ?? []),
  ];
}

function validateLabels(labels: Record<string, string>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...checkQualifiedName(key).map((why) => invalidField('metadata.labels', key, why)),
    ...checkLabelValue(value).map((why) => invalidField('metadata.labels', value, why)),
  ]);
}

function validateAnnotations(annotations: Record<string, string>): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Upper case is allowed here, though not in other qualified names' domains.
    for (const why of checkQualifiedName(key.toLowerCase()))
      errors.push(invalidField('metadata.annotations', key, why));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationBytes) errors.push(tooLongField('metadata.annotations', maxAnnotationBytes));
  return errors;
}

function validateOwners(owners: OwnerReference[]): FieldError[] {
  const errors: FieldError[] = [];
  let controller = '';
  for (const owner of owners) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      const value = owner[field] ?? '';
      const word = field === 'apiVersion' ? 'version' : field;
      const isEmpty = field === 'apiVersion' ? value.split('/').at(-1) === '' : value === '';
      if (isEmpty) errors.push(invalidField(`metadata.ownerReferences.${field}`, value, `${word} must not be empty`));
    }
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      const detail = '/v1, Kind=Event is disallowed from being an owner';
      errors.push(invalidField('metadata.ownerReferences', owner, detail));
    }
    if (owner.controller !== true) continue;
    const current = `${owner.kind}/${owner.name}`;
    if (controller !== '') {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`;
      errors.push(invalidField('metadata.ownerReferences', owners, detail));
    } else controller = current;
  }
  return errors;
}

function validateFinalizers(finalizers: string[]): FieldError[] {
  return finalizers.flatMap((name) =>
    checkQualifiedName(name).map((why) => invalidField('metadata.finalizers', name, why)),
  );
}

const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** A name without a domain must be one that Kubernetes itself uses. */
function validateBareFinalizers(finalizers: string[]): FieldError[] {
  const why = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((name, index) =>
    name.includes('/') || standardFinalizers.has(name)
      ? []
      : [invalidField(`metadata.finalizers[${index}]`, name, why)],
  );
}

function immutableField(field: string, value: string): FieldError {
  const error = invalidField(`metadata.${field}`, value, 'field is immutable');
  // Times are shown as Go prints them.
  const isTime = field.endsWith('Timestamp') && value !== '';
  return isTime ? { ...error, value: `${value.replace('T', ' ').replace('Z', '')} +0000 UTC` } : error;
}

function validateChange(metadata: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const known = new Set(old.finalizers);
    const added = (metadata.finalizers ?? []).filter((name) => !known.has(name)).sort();
    if (added.length > 0) {
      const list = `[]string{${added.map(quote).join(', ')}}`;
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
      errors.push(forbiddenField('metadata.finalizers', why));
    }
  }
  if ((metadata.resourceVersion ?? '') === '') {
    errors.push(invalidField('metadata.resourceVersion', '', 'must be specified for an update'));
  }
  for (const field of ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'] as const) {
    if ((metadata[field] ?? '') !== (old[field] ?? '')) {
      errors.push(immutableField(field, metadata[field] ?? ''));
    }
  }
  if (metadata.deletionGracePeriodSeconds !== old.deletionGracePeriodSeconds) {
    const value = metadata.deletionGracePeriodSeconds ?? null;
    errors.push(invalidField('metadata.deletionGracePeriodSeconds', value, 'field is immutable'));
  }
  return [...errors, ...validateFreeParts(metadata)];
}
