/** The `scale` subresource of any kind that has one: wanted and present replicas. */

import type { KubeObject } from '../../api/object.js';
import { invalidField } from './field-error.js';
import { maxBodyBytes, readObject } from './http/body.js';
import { decodeStored, keyOf } from './http/codec.js';
import { mediaType, negotiateOutput } from './http/negotiate.js';
import type { Presenter } from './http/presenter.js';
import { respondObject } from './http/respond.js';
import { writeOptions } from './options.js';
import { DecodeError, isCustom, type Resource } from './resource.js';
import { defineResource } from './resources/define.js';
import type { Connector } from './router.js';
import { badRequest, internal, invalid, methodNotAllowed, notFound } from './status-error.js';
import type { Store } from './store/store.js';
import { type ChangePlan, changeObject } from './verbs/change.js';
import { patchKinds } from './verbs/patch.js';
import { readPatch } from './verbs/read-patch.js';
import { about, type VerbRequest, type WriteContext } from './verbs/verb.js';

/** Its entry in discovery. */
export const scalePart = { group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] };

const scales = defineResource({
  group: 'autoscaling',
  kind: 'Scale',
  plural: 'scales',
  shape: 'autoscaling.v1.Scale',
  namespaced: true,
});

export function scaleConnector(context: WriteContext, presenter: Presenter): Connector {
  return {
    group: '*',
    resource: '*',
    subresource: 'scale',
    async handle(exchange, info, resource) {
      const output = negotiateOutput({
        accept: exchange.header('accept'),
        userAgent: exchange.header('user-agent'),
        query: exchange.query,
        verb: 'get',
        isOne: true,
      });
      const request: VerbRequest = { exchange, info, resource, output, presenter };
      const { object } =
        info.verb === 'get'
          ? read(request, context.store)
          : await changeObject(request, context, await planChange(request));
      respondObject({ ...request, resource: scales }, 200, scaleOf(resource, object));
    },
  };
}

function read(request: VerbRequest, store: Store): { object: KubeObject } {
  const { info, resource } = request;
  const stored = store.get(keyOf(resource, info.namespace, info.name));
  if (stored === undefined) throw notFound(about(request), info.name);
  const object = decodeStored(resource, stored.bytes);
  if (numberAt(object, resource.scale!.wanted) === undefined) {
    throw internal(new Error(`the spec replicas field "${pathText(resource)}" does not exist`));
  }
  return { object };
}

async function planChange(request: VerbRequest): Promise<ChangePlan> {
  const { exchange, info } = request;
  // Kubernetes does not note who scaled an object of a custom kind.
  const shared = { createsMissing: false, isApplied: isCustom(request.resource) };
  if (info.verb === 'update') {
    const options = writeOptions(exchange.query, 'UpdateOptions');
    const sent = await readObject(exchange, scales, options.fieldValidation);
    return { ...shared, options, produce: (current) => scaled(request, current!, sent) };
  }
  const kind = patchKinds[mediaType(exchange.header('content-type'))];
  if (info.verb !== 'patch' || kind === undefined || kind === 'apply') throw methodNotAllowed();
  const options = writeOptions(exchange.query, 'PatchOptions');
  const patch = readPatch(kind, await exchange.body(maxBodyBytes), scales, options.fieldValidation);
  return {
    ...shared,
    options,
    produce(current) {
      const patched = patch.apply(scaleOf(request.resource, current!));
      try {
        return scaled(request, current!, scales.decode(patched, patch.style).object);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        throw invalid({ group: '', kind: '' }, '', [
          invalidField('patch', patch.shown(patched, scaleOf(request.resource, current!)), error.message),
        ]);
      }
    },
  };
}

/** The object with the replicas of the scale. */
function scaled({ resource }: VerbRequest, current: KubeObject, scale: KubeObject): KubeObject {
  const { replicas } = (scale.spec ?? {}) as { replicas?: number };
  if (replicas === undefined && numberAt(current, resource.scale!.wanted) === undefined) {
    throw badRequest(`the spec replicas field "${pathText(resource)}" cannot be empty`);
  }
  const object = structuredClone(current);
  const { resourceVersion } = scale.metadata;
  if (resourceVersion) object.metadata.resourceVersion = resourceVersion;
  const { wanted } = resource.scale!;
  let part = object as Record<string, unknown>;
  for (const key of wanted.slice(0, -1)) {
    part[key] ??= {};
    part = part[key] as Record<string, unknown>;
  }
  part[wanted.at(-1)!] = replicas ?? 0;
  return object;
}

function scaleOf({ scale }: Resource, object: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = scale!.selector(object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject['metadata'],
    spec: { replicas: numberAt(object, scale!.wanted) ?? 0 },
    status: { replicas: numberAt(object, scale!.present) ?? 0, ...(selector === '' ? {} : { selector }) },
  };
}

function numberAt(object: unknown, path: string[]): number | undefined {
  let value = object;
  for (const key of path) {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    value = isThere ? (value as Record<string, unknown>)[key] : undefined;
  }
  return typeof value === 'number' ? value : undefined;
}

function pathText({ scale }: Resource): string {
  return `.${scale!.wanted.join('.')}`;
}
