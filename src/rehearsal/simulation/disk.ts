/**
 * An in-memory disk that loses unsynced data when the power goes, as real ones do: the content of a file is safe after a sync of the
 * file, the entries of a directory after a sync of the directory. Anything that is not guaranteed does happen: entries of one directory
 * survive in any combination, and unsynced data is whole, cut in half or empty.
 */
import type { Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Files } from '../../atomic-file.js';
import type { SeededRandom } from './seeded-random.js';

type Inode = FileInode | DirInode;
interface FileInode {
  data: Buffer;
  mode: number;
  isSynced: boolean;
}
interface DirInode {
  mode: number;
  /** As the running system sees them. */
  entries: Map<string, Inode>;
  /** As they were at the last sync. */
  safe: Map<string, Inode>;
  /** Since then, in order. A rename is one change: never half of it. */
  pending: { unlink?: string; link?: { name: string; inode: Inode } }[];
}

const isDir = (inode: Inode): inode is DirInode => 'entries' in inode;

export class SimulatedDisk implements Files {
  #root = newDir(0o755);
  /** Full disk: no file can be created; existing files can be removed and renamed. */
  isFull = false;
  readonly random: SeededRandom | undefined;

  /** Without randomness the names of temporary files are the system's. */
  constructor(random?: SeededRandom) {
    this.random = random;
  }

  read(path: string): Buffer {
    const inode = this.#at(path);
    if (isDir(inode)) throw failure('EISDIR', path);
    return inode.data;
  }

  list(path: string): string[] {
    const inode = this.#find(path);
    return inode !== undefined && isDir(inode) ? [...inode.entries.keys()].sort() : [];
  }

  stat(path: string): Stats | undefined {
    const inode = this.#find(path);
    if (inode === undefined) return undefined;
    return {
      mode: inode.mode,
      uid: 0,
      size: isDir(inode) ? 0 : inode.data.length,
      isFile: () => !isDir(inode),
      isDirectory: () => isDir(inode),
      isSymbolicLink: () => false,
    } as Stats;
  }

  makeDir(path: string, mode: number): void {
    if (this.isFull) throw failure('ENOSPC', path);
    this.#add(path, newDir(mode));
  }

  create(path: string, data: Uint8Array, mode: number): void {
    // The last file before the end still gets a part of its bytes.
    const written = this.isFull ? data.subarray(0, data.length >> 1) : data;
    this.#add(path, { data: Buffer.from(written), mode, isSynced: false });
    if (this.isFull) throw failure('ENOSPC', path);
  }

  sync(path: string): void {
    const inode = this.#at(path);
    if (!isDir(inode)) inode.isSynced = true;
    else if (inode.pending.length > 0) {
      inode.safe = new Map(inode.entries);
      inode.pending = [];
    }
  }

  rename(from: string, to: string): void {
    const inode = this.#at(from);
    const [dir, target] = [this.#dir(dirname(from)), this.#dir(dirname(to))];
    if (dir !== target) throw new Error('renames stay within a directory');
    dir.entries.delete(basename(from));
    dir.entries.set(basename(to), inode);
    dir.pending.push({ unlink: basename(from), link: { name: basename(to), inode } });
  }

  link(from: string, to: string): void {
    this.#add(to, this.#at(from));
  }

  remove(path: string): void {
    const inode = this.#at(path);
    if (isDir(inode) && inode.entries.size > 0) throw failure('ENOTEMPTY', path);
    const dir = this.#dir(dirname(path));
    dir.entries.delete(basename(path));
    dir.pending.push({ unlink: basename(path) });
  }

  /** Another disk with the same files, all of them safe. */
  copy(random?: SeededRandom): SimulatedDisk {
    const disk = new SimulatedDisk(random);
    disk.#root = copyOf(this.#root);
    return disk;
  }

  /** Loses writes that were not synced, or keeps them, by chance. */
  losePower(random: SeededRandom): void {
    this.#root = afterPowerLoss(this.#root, random);
  }

  #find(path: string): Inode | undefined {
    let inode: Inode | undefined = this.#root;
    for (const name of path.split('/')) {
      if (name === '') continue;
      if (inode === undefined || !isDir(inode)) return undefined;
      inode = inode.entries.get(name);
    }
    return inode;
  }

  #at(path: string): Inode {
    return this.#find(path) ?? fail('ENOENT', path);
  }

  #dir(path: string): DirInode {
    const inode = this.#at(path);
    return isDir(inode) ? inode : fail('ENOTDIR', path);
  }

  #add(path: string, inode: Inode): void {
    const dir = this.#dir(dirname(path));
    const name = basename(path);
    if (dir.entries.has(name)) throw failure('EEXIST', path);
    dir.entries.set(name, inode);
    dir.pending.push({ link: { name, inode } });
  }
}

function newDir(mode: number): DirInode {
  return { mode, entries: new Map(), safe: new Map(), pending: [] };
}

/** A file is never written to after it was created: copies can share it. */
function copyOf({ mode, entries }: DirInode): DirInode {
  const copies = new Map([...entries].map(([name, inode]) => [name, isDir(inode) ? copyOf(inode) : safe(inode)]));
  return { mode, entries: copies, safe: new Map(copies), pending: [] };
}

const safe = (inode: FileInode): FileInode => (inode.isSynced ? inode : { ...inode, isSynced: true });

function afterPowerLoss(dir: DirInode, random: SeededRandom): DirInode {
  const entries = new Map(dir.safe);
  for (const { unlink, link } of dir.pending) {
    if (random.chance(0.5)) continue;
    if (unlink !== undefined) entries.delete(unlink);
    if (link !== undefined) entries.set(link.name, link.inode);
  }
  for (const [name, inode] of entries)
    entries.set(name, isDir(inode) ? afterPowerLoss(inode, random) : cutFile(inode, random));
  return { mode: dir.mode, entries, safe: new Map(entries), pending: [] };
}

function cutFile({ data, mode, isSynced }: FileInode, random: SeededRandom): FileInode {
  const kept = isSynced ? data.length : Math.floor(data.length * random.pick([1, 0.5, 0]));
  return { data: data.subarray(0, kept), mode, isSynced: true };
}

const failure = (code: string, path: string) => Object.assign(new Error(`${code}: ${path}`), { code });

function fail(code: string, path: string): never {
  throw failure(code, path);
}
