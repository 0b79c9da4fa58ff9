/**
 * A disk that can be stopped anywhere. Operations go to real files and are written down; afterwards every state that a
 * power cut could have left can be put together: at each point, with any part of what was not yet synced lost, and with
 * unsynced data whole, cut in half or empty.
 *
 * What a file holds is safe after a sync of the file; what a directory lists, after a sync of the directory. Nothing else
 * is promised, and what is not promised happens here: entries of one directory survive in any combination.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Files, realFiles } from '../src/atomic-file.js';

type Operation =
  | { kind: 'makeDir'; path: string; mode: number }
  | { kind: 'create'; path: string; data: Buffer; mode: number }
  | { kind: 'sync'; path: string }
  | { kind: 'rename'; from: string; to: string }
  | { kind: 'link'; from: string; to: string }
  | { kind: 'remove'; path: string };

type Inode = FileInode | DirInode;
interface FileInode {
  kind: 'file';
  data: Buffer;
  mode: number;
  synced: boolean;
}
interface DirInode {
  kind: 'dir';
  mode: number;
  /** What is surely there. */
  entries: Map<string, Inode>;
  /** What happened since the last sync, in order. */
  pending: EntryChange[];
}
/** A rename is one change: never half of it. */
type EntryChange = { unlink?: string; link?: { name: string; inode: Inode } };

/** Writes down what changes, and does it. Sync is not done: this machine does not lose power during the test. */
export class CrashDisk implements Files {
  readonly operations: Operation[] = [];

  read = realFiles.read;
  list = realFiles.list;
  stat = realFiles.stat;

  makeDir(path: string, mode: number): void {
    realFiles.makeDir(path, mode);
    this.operations.push({ kind: 'makeDir', path, mode });
  }

  create(path: string, data: Uint8Array, mode: number): void {
    realFiles.create(path, data, mode);
    this.operations.push({ kind: 'create', path, data: Buffer.from(data), mode });
  }

  sync(path: string): void {
    this.operations.push({ kind: 'sync', path });
  }

  rename(from: string, to: string): void {
    realFiles.rename(from, to);
    this.operations.push({ kind: 'rename', from, to });
  }

  link(from: string, to: string): void {
    realFiles.link(from, to);
    this.operations.push({ kind: 'link', from, to });
  }

  remove(path: string): void {
    realFiles.remove(path);
    this.operations.push({ kind: 'remove', path });
  }
}

/** A disk that is full from its n-th write on, until it is emptied. */
export class FullDisk implements Files {
  read = realFiles.read;
  list = realFiles.list;
  stat = realFiles.stat;
  rename = realFiles.rename;
  link = realFiles.link;
  remove = realFiles.remove;
  #left: number;

  constructor(writes: number) {
    this.#left = writes;
  }

  sync(): void {}

  makeDir(path: string, mode: number): void {
    this.#take();
    realFiles.makeDir(path, mode);
  }

  create(path: string, data: Uint8Array, mode: number): void {
    // The last file before the end still gets a part of its bytes.
    if (this.#left === 1) realFiles.create(path, data.subarray(0, data.length >> 1), mode);
    this.#take();
    if (this.#left > 0) realFiles.create(path, data, mode);
  }

  #take(): void {
    if (--this.#left <= 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  }
}

/** Real files without waiting for the disk. */
export const unsyncedFiles: Files = { ...realFiles, sync() {} };

export interface CrashState {
  /** For the message of a failing test. */
  name: string;
  /** Everything was done before the power went. */
  complete: boolean;
  /** Puts this state into an empty directory. */
  into(dir: string): void;
}

/** Every state a crash could leave, each once, from before the first operation to after the last. `root` as it was before. */
export function* crashStates(before: DirInode, root: string, operations: Operation[]): Generator<CrashState> {
  const seen = new Set<string>();
  for (let done = 0; done <= operations.length; done++) {
    // Rebuilt for each point, since applying changes the inodes.
    const tree = copy(before) as DirInode;
    for (const operation of operations.slice(0, done)) apply(tree, root, operation);
    const where = `after ${done} of ${operations.length} operations${done > 0 ? ` (${label(operations[done - 1]!, root)})` : ''}`;
    const complete = done === operations.length;
    const dirs = [...directories(tree)].filter((dir) => dir.pending.length > 0);
    const changes = dirs.flatMap((dir) => dir.pending.map((change) => ({ dir, change })));
    const anyUnsynced = hasUnsyncedFile(
      tree,
      changes.map(({ change }) => change.link?.inode),
    );
    for (const [index, survives] of combinations(changes.length).entries())
      for (const data of anyUnsynced ? (['whole', 'half', 'empty'] as const) : (['whole'] as const)) {
        const surviving = new Set(changes.filter((_, i) => survives[i]).map(({ change }) => change));
        const entries = [...left(tree, '', data, surviving)];
        const key = JSON.stringify([
          complete,
          ...entries.map(({ path, mode, bytes }) => [path, mode, bytes?.toString('latin1')]),
        ]);
        if (seen.has(key)) continue;
        seen.add(key);
        yield {
          name: `${where}, combination ${index} of ${changes.length} unsynced entries, data ${data}`,
          complete,
          into: (dir) => write(entries, dir),
        };
      }
  }
}

/** A directory on disk as a tree whose every part is safe. */
export function treeOf(path: string): DirInode {
  const entries = new Map<string, Inode>();
  for (const name of readdirSync(path)) {
    const child = join(path, name);
    const found = lstatSync(child);
    const mode = found.mode & 0o777;
    entries.set(
      name,
      found.isDirectory() ? treeOf(child) : { kind: 'file', data: readFileSync(child), mode, synced: true },
    );
  }
  return { kind: 'dir', mode: lstatSync(path).mode & 0o777, entries, pending: [] };
}

function copy(inode: Inode): Inode {
  if (inode.kind === 'file') return { ...inode };
  const entries = new Map([...inode.entries].map(([name, child]) => [name, copy(child)]));
  return { ...inode, entries, pending: [] };
}

function apply(tree: DirInode, root: string, operation: Operation): void {
  const parts = (path: string) => path.slice(root.length).split('/').filter(Boolean);
  const find = (path: string) => parts(path).reduce<Inode>((dir, name) => present(dir as DirInode).get(name)!, tree);
  const parent = (path: string) => find(dirname(path)) as DirInode;
  switch (operation.kind) {
    case 'makeDir': {
      const inode: DirInode = { kind: 'dir', mode: operation.mode, entries: new Map(), pending: [] };
      return void parent(operation.path).pending.push({ link: { name: basename(operation.path), inode } });
    }
    case 'create': {
      const inode: FileInode = { kind: 'file', data: operation.data, mode: operation.mode, synced: false };
      return void parent(operation.path).pending.push({ link: { name: basename(operation.path), inode } });
    }
    case 'sync': {
      const inode = find(operation.path);
      if (inode.kind === 'file') inode.synced = true;
      else {
        inode.entries = present(inode);
        inode.pending = [];
      }
      return;
    }
    case 'rename': {
      const dir = parent(operation.from);
      if (dir !== parent(operation.to)) throw new Error('renames stay within a directory');
      const inode = find(operation.from);
      return void dir.pending.push({ unlink: basename(operation.from), link: { name: basename(operation.to), inode } });
    }
    case 'link':
      return void parent(operation.to).pending.push({
        link: { name: basename(operation.to), inode: find(operation.from) },
      });
    case 'remove':
      return void parent(operation.path).pending.push({ unlink: basename(operation.path) });
  }
}

/** The entries as the running system sees them, or as those changes leave them that survive. */
function present({ entries, pending }: DirInode, survives?: Set<EntryChange>): Map<string, Inode> {
  const now = new Map(entries);
  for (const change of pending) {
    if (survives && !survives.has(change)) continue;
    if (change.unlink !== undefined) now.delete(change.unlink);
    if (change.link) now.set(change.link.name, change.link.inode);
  }
  return now;
}

function* directories(dir: DirInode, seen = new Set<Inode>()): Generator<DirInode> {
  if (seen.has(dir)) return;
  seen.add(dir);
  yield dir;
  const children = [...dir.entries.values(), ...dir.pending.flatMap(({ link }) => (link ? [link.inode] : []))];
  for (const child of children) if (child.kind === 'dir') yield* directories(child, seen);
}

function hasUnsyncedFile(tree: DirInode, linked: (Inode | undefined)[]): boolean {
  const files = [...directories(tree)].flatMap((dir) => [...present(dir).values()]);
  return [...files, ...linked].some((inode) => inode?.kind === 'file' && !inode.synced);
}

interface Entry {
  path: string;
  mode: number;
  /** Undefined for a directory. */
  bytes?: Buffer;
}

/** What the power cut leaves; a directory before its entries. */
function* left(
  dir: DirInode,
  path: string,
  data: 'whole' | 'half' | 'empty',
  survives: Set<EntryChange>,
): Generator<Entry> {
  yield { path, mode: dir.mode };
  for (const [name, inode] of present(dir, survives)) {
    const child = join(path, name);
    if (inode.kind === 'dir') yield* left(inode, child, data, survives);
    else {
      const kept = inode.synced || data === 'whole' ? inode.data.length : data === 'half' ? inode.data.length >> 1 : 0;
      yield { path: child, mode: inode.mode, bytes: inode.data.subarray(0, kept) };
    }
  }
}

function write(entries: Entry[], dir: string): void {
  for (const { path, mode, bytes } of entries) {
    const target = join(dir, path);
    if (bytes !== undefined) writeFileSync(target, bytes, { mode });
    else {
      mkdirSync(target, { recursive: true, mode });
      chmodSync(target, mode);
    }
  }
}

/** All of 2^n up to seven; beyond, each prefix, each one lost and each one alone. */
function combinations(count: number): boolean[][] {
  if (count <= 7)
    return Array.from({ length: 2 ** count }, (_, bits) =>
      Array.from({ length: count }, (_, i) => ((bits >> i) & 1) === 1),
    );
  const each = (keep: (i: number, at: number) => boolean) =>
    Array.from({ length: count }, (_, at) => Array.from({ length: count }, (_, i) => keep(i, at)));
  return [
    ...each((i, at) => i <= at),
    ...each((i, at) => i !== at),
    ...each((i, at) => i === at),
    Array(count).fill(false),
  ];
}

function label(operation: Operation, root: string): string {
  const path = 'to' in operation ? operation.to : operation.path;
  return `${operation.kind} ${path.slice(root.length + 1)}`;
}
