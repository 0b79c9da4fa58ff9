/** The garbage collector's index of dependents by the uid of their owner. */
import { type Key, keyText } from '../store/store.js';

export class Dependents {
  /** Uids of the owners of each object that has some. */
  readonly #owners = new Map<string, string[]>();
  readonly #byOwner = new Map<string, Map<string, Key>>();

  /** Records the owners of an object. Returns whether they changed. */
  set(key: Key, owners: string[]): boolean {
    const text = keyText(key);
    if ((this.#owners.get(text) ?? []).join() === owners.join()) return false;
    this.delete(key);
    if (owners.length > 0) this.#owners.set(text, owners);
    for (const owner of owners) {
      const siblings = this.#byOwner.get(owner) ?? new Map<string, Key>();
      this.#byOwner.set(owner, siblings.set(text, key));
    }
    return true;
  }

  has(key: Key): boolean {
    return this.#owners.has(keyText(key));
  }

  /** Removes an object and returns its owners. */
  delete(key: Key): string[] {
    const text = keyText(key);
    const owners = this.#owners.get(text) ?? [];
    this.#owners.delete(text);
    for (const owner of owners) {
      const siblings = this.#byOwner.get(owner);
      if (siblings?.delete(text) && siblings.size === 0) this.#byOwner.delete(owner);
    }
    return owners;
  }

  of(owner: string): Key[] {
    return [...(this.#byOwner.get(owner)?.values() ?? [])];
  }
}
