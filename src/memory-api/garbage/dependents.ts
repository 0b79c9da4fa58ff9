/** The garbage collector's index of dependents by the uid of their owner. */
import type { KubeObject, OwnerReference } from '../../api/object.js';
import { type Key, keyText } from '../store/store.js';

export interface Dependent {
  key: Key;
  owners: OwnerReference[];
}

export class Dependents {
  readonly #byKey = new Map<string, Dependent>();
  readonly #byOwner = new Map<string, Map<string, Dependent>>();

  /** Records an object. Returns its previous owners where they changed, else undefined. */
  set(key: Key, { metadata }: KubeObject): OwnerReference[] | undefined {
    const owners = metadata.ownerReferences ?? [];
    const text = keyText(key);
    const known = this.#byKey.get(text);
    if (isSameOwners(known?.owners ?? [], owners)) return undefined;
    const before = this.delete(key);
    const dependent = { key, owners };
    if (owners.length > 0) this.#byKey.set(text, dependent);
    for (const { uid } of owners) {
      const siblings = this.#byOwner.get(uid) ?? new Map<string, Dependent>();
      siblings.set(text, dependent);
      this.#byOwner.set(uid, siblings);
    }
    return before;
  }

  has(key: Key): boolean {
    return this.#byKey.has(keyText(key));
  }

  /** Removes an object and returns its owners. */
  delete(key: Key): OwnerReference[] {
    const text = keyText(key);
    const known = this.#byKey.get(text);
    if (known === undefined) return [];
    this.#byKey.delete(text);
    for (const { uid } of known.owners) {
      const siblings = this.#byOwner.get(uid);
      if (siblings?.delete(text) && siblings.size === 0) this.#byOwner.delete(uid);
    }
    return known.owners;
  }

  of(ownerUid: string): Dependent[] {
    return [...(this.#byOwner.get(ownerUid)?.values() ?? [])];
  }

  /** Dependents that block the foreground deletion of their owner. */
  blocking(ownerUid: string): Dependent[] {
    return this.of(ownerUid).filter(({ owners }) =>
      owners.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true),
    );
  }
}

function isSameOwners(a: OwnerReference[], b: OwnerReference[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ uid, blockOwnerDeletion }, at) => uid === b[at]!.uid && blockOwnerDeletion === b[at]!.blockOwnerDeletion)
  );
}
