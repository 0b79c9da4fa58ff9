/** Files in memory, for tests without a disk. Durable at once; no symbolic links. */
import type { Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Files } from '../src/atomic-file.js';

type Entry = { data: Buffer | undefined; mode: number };

export class MemoryFiles implements Files {
  readonly #entries = new Map<string, Entry>([['/', { data: undefined, mode: 0o755 }]]);

  read(path: string): Buffer {
    const { data } = this.#at(path);
    if (data === undefined) throw failure('EISDIR', path);
    return data;
  }

  list(path: string): string[] {
    return [...this.#entries.keys()]
      .filter((other) => other !== '/' && dirname(other) === path)
      .map((other) => basename(other))
      .sort();
  }

  stat(path: string): Stats | undefined {
    const found = this.#entries.get(path);
    if (found === undefined) return undefined;
    const { data, mode } = found;
    return {
      mode,
      uid: 0,
      size: data?.length ?? 0,
      isFile: () => data !== undefined,
      isDirectory: () => data === undefined,
      isSymbolicLink: () => false,
    } as Stats;
  }

  makeDir(path: string, mode: number): void {
    this.#add(path, { data: undefined, mode });
  }

  create(path: string, data: Uint8Array, mode: number): void {
    this.#add(path, { data: Buffer.from(data), mode });
  }

  sync(path: string): void {
    this.#at(path);
  }

  rename(from: string, to: string): void {
    const moved = [...this.#entries].filter(([path]) => path === from || path.startsWith(`${from}/`));
    this.#at(from);
    for (const [path, entry] of moved) {
      this.#entries.delete(path);
      this.#entries.set(to + path.slice(from.length), entry);
    }
  }

  link(from: string, to: string): void {
    this.#add(to, this.#at(from));
  }

  remove(path: string): void {
    this.#at(path);
    if (this.list(path).length > 0) throw failure('ENOTEMPTY', path);
    this.#entries.delete(path);
  }

  #at(path: string): Entry {
    const found = this.#entries.get(path);
    if (found === undefined) throw failure('ENOENT', path);
    return found;
  }

  #add(path: string, entry: Entry): void {
    this.#at(dirname(path));
    if (this.#entries.has(path)) throw failure('EEXIST', path);
    this.#entries.set(path, entry);
  }
}

const failure = (code: string, path: string) => Object.assign(new Error(`${code}: ${path}`), { code });
