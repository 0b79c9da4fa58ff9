/** Writes objects that the controller owns: creates missing ones, updates those that differ. */
import { isDeepStrictEqual } from 'node:util';
import { isAlreadyExists } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import type { ResourceType } from '../kube/resource-type.js';

interface Place {
  namespace: string;
  name: string;
}

interface Owned {
  metadata: { ownerReferences?: unknown; namespace?: string };
}

export class ObjectWriter {
  constructor(
    readonly client: KubeClient,
    readonly signal: AbortSignal,
  ) {}

  /** True when it wrote. Only `fields` and the owner are compared and written. */
  async createOrUpdate<T extends Owned>(
    type: ResourceType,
    place: Place,
    { present, wanted, fields }: { present: T | undefined; wanted: T; fields: (keyof T)[] },
  ): Promise<boolean> {
    if (present === undefined) return this.create(type, place.namespace, wanted);
    const { ownerReferences } = wanted.metadata;
    const isSame =
      fields.every((field) => isDeepStrictEqual(present[field], wanted[field])) &&
      isDeepStrictEqual(present.metadata.ownerReferences, ownerReferences);
    if (isSame) return false;
    const changes = Object.fromEntries(fields.map((field) => [field, wanted[field]]));
    await this.update(type, place, { ...present, ...changes, metadata: { ...present.metadata, ownerReferences } });
    return true;
  }

  /** False when the object already exists. */
  async create(type: ResourceType, namespace: string | undefined, object: object): Promise<boolean> {
    const place = namespace === undefined ? {} : { namespace };
    try {
      await this.client.create(type, place, object, { signal: this.signal });
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return false;
    }
  }

  async update(type: ResourceType, place: Place, object: object): Promise<void> {
    await this.client.update(type, place, object, { signal: this.signal });
  }
}
