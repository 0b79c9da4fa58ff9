/** PATCH: JSON patch, merge patch, strategic merge patch or apply, on the newest state. */

import type { KubeObject } from '../../api/object.js';
import { ApiError } from '../../api/status.js';
import { invalidField } from '../field-error.js';
import { type WriteOptions, writeOptions } from '../options.js';
import type { Registry } from '../registry.js';
import { maxBodyBytes, normaliseType, report } from '../requests/body.js';
import { mediaType } from '../requests/negotiate.js';
import { respondObject, respondStored } from '../requests/respond.js';
import { type Decoded, DecodeError, isCustom, type Resource } from '../resource.js';
import { badRequest, invalid, unsupportedMediaType } from '../status-error.js';
import { planApply } from './apply-patch.js';
import { type ChangePlan, changeObject } from './change.js';
import { type Patch, readPatch } from './read-patch.js';
import type { VerbRequest, WriteContext } from './verb.js';

export const patchKinds: Record<string, 'json' | 'merge' | 'strategic' | 'apply'> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

export async function patch(request: VerbRequest, context: WriteContext, registry: Registry): Promise<void> {
  const { exchange, resource } = request;
  const kind = patchKinds[mediaType(exchange.header('content-type'))];
  if (kind === 'strategic' && isCustom(resource))
    throw unsupportedMediaType(Object.keys(patchKinds).filter((type) => patchKinds[type] !== 'strategic'));
  if (kind === undefined) {
    throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  }
  const options = writeOptions(exchange.query, 'PatchOptions', kind === 'apply');
  const body = await exchange.body(maxBodyBytes);
  const plan =
    kind === 'apply'
      ? planApply(request, body, options, context.clock)
      : planPatch(request, readPatch(kind, body, resource), options, registry);
  const { object, stored, isNew } = await changeObject(request, context, plan);
  const code = isNew ? 201 : 200;
  if (stored !== undefined) respondStored(request, code, stored);
  else respondObject(request, code, object);
}

function planPatch(request: VerbRequest, read: Patch, options: WriteOptions, registry: Registry): ChangePlan {
  const { exchange, resource } = request;
  let isReported = false;
  return {
    options,
    createsMissing: false,
    produce(current) {
      const patched = read.apply(current!);
      const rejection = (why: string) => invalid(noKind, '', [invalidField('patch', '', why)]);
      // A strategic merge patch may have any type: it is not checked.
      if (read.style === 'json') checkType(patched, request, registry, rejection);
      try {
        const { object, unknownFields } = decodeTouched(patched, current!, read, resource);
        const complaints = [...read.complaints, ...[...unknownFields].sort().map((path) => `unknown field "${path}"`)];
        if (!isReported) report(exchange, options.fieldValidation, complaints, rejection);
        isReported = true;
        normaliseType(object, resource);
        return object;
      } catch (error) {
        if (error instanceof DecodeError) throw rejection(error.message);
        throw error;
      }
    },
  };
}

/**
 * Decodes only what the patch touched: the rest comes from the store, where it is normalized already. Custom kinds are
 * decoded whole, since their schema may have changed since.
 */
function decodeTouched(patched: unknown, current: KubeObject, { style, touched }: Patch, resource: Resource): Decoded {
  if (touched === undefined || resource.shape === undefined) return resource.decode(patched, style);
  const fields = Object.entries(patched as object);
  const decoded = resource.decode(Object.fromEntries(fields.filter(([key]) => touched.has(key))), style);
  for (const [key, value] of Object.entries(current)) {
    if (!touched.has(key)) decoded.object[key] = value;
  }
  return decoded;
}

const noKind = { group: '', kind: '' };

/** A patch may not turn an object into another kind. */
function checkType(
  patched: unknown,
  { info, resource }: VerbRequest,
  registry: Registry,
  rejection: (why: string) => Error,
): void {
  const { kind, apiVersion } = (patched ?? {}) as { kind?: unknown; apiVersion?: unknown };
  const expected = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  if ((kind ?? resource.kind) === resource.kind && apiVersion === expected) return;
  // Without an apiVersion nothing can be decoded, not even the name.
  if (apiVersion === undefined) {
    const why = `the name of the object (${info.name} based on URL) was undeterminable: name must be provided`;
    throw badRequest(why);
  }
  const [version = '', group = ''] = String(apiVersion).split('/').reverse();
  if (resource.shape === undefined && typeof kind === 'string' && typeof apiVersion === 'string') {
    throw invalid({ group, kind }, info.name, [
      ...(kind === resource.kind ? [] : [invalidField('kind', kind, `must be ${resource.kind}`)]),
      ...(apiVersion === expected ? [] : [invalidField('apiVersion', apiVersion, `must be ${expected}`)]),
    ]);
  }
  // Kubernetes decodes it as its new kind, and reports errors of that.
  const other = registry.findKind(group, version, String(kind));
  if (other !== undefined) throw rejection(misfit(other, patched));
  throw rejection(
    `no kind "${String(kind)}" is registered for version "${String(apiVersion)}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  );
}

function misfit(resource: Resource, value: unknown): string {
  try {
    resource.decode(value, 'json');
    return `unable to convert the patched object to ${resource.kind}`;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}
