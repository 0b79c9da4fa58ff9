/**
 * Looks over an LMDB file before it is opened. LMDB maps the file and trusts it: a truncated or overwritten one ends the
 * process (SIGBUS) instead of giving an error. So every page of the trees is visited here first; what the pages hold is
 * checked record by record afterwards.
 *
 * Page: number u64, txn u64, pad u16, flags u16, lower u16, upper u16, then node offsets u16 (from the page's end of
 * header). Node: data size u32, flags u16, key size u16, key, data. Meta page: magic, version, address, map size, free and
 * main tree, last page, txn.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const headerBytes = 24;
const magic = 0xbeefc0de;
const none = 0xffffffffffffffffn;
const branch = 0x01;
const leaf = 0x02;
const overflow = 0x04;
const bigData = 0x01;
const subTree = 0x02;

export class DamagedFile extends Error {}

/** Throws DamagedFile when the file cannot be walked through. */
export function checkPages(file: string): void {
  const fd = openSync(file, 'r');
  try {
    const check = new PageCheck(fd, fstatSync(fd).size);
    // The list of free pages is read only with the first write, which is too late to refuse.
    for (const root of check.roots()) check.tree(root);
  } finally {
    closeSync(fd);
  }
}

class PageCheck {
  readonly #fd: number;
  readonly #size: number;
  #pageSize = 4096;
  #visited = 0;

  constructor(fd: number, size: number) {
    this.#fd = fd;
    this.#size = size;
  }

  /** Of the newest of the two meta pages: the tree of free pages, and that of everything else. */
  roots(): bigint[] {
    const first = this.#meta(0);
    this.#pageSize = first.pageSize;
    const second = this.#meta(1);
    return first.txn > second.txn ? first.roots : second.roots;
  }

  #meta(number: number): { roots: bigint[]; txn: bigint; pageSize: number } {
    const page = this.#page(BigInt(number));
    const at = headerBytes;
    const pageSize = page.readUInt32LE(at + 24);
    if (page.readUInt32LE(at) !== magic || pageSize < 4096 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) {
      throw new DamagedFile(`page ${number} is no LMDB meta page`);
    }
    const roots = [page.readBigUInt64LE(at + 64), page.readBigUInt64LE(at + 112)];
    return { roots, txn: page.readBigUInt64LE(at + 128), pageSize };
  }

  tree(root: bigint): void {
    if (root === none) return;
    const page = this.#page(root);
    // A healthy file has no more pages in its trees than in the file.
    if (++this.#visited > this.#size / this.#pageSize) throw new DamagedFile('the tree runs in circles');
    const flags = page.readUInt16LE(18);
    for (const node of this.#nodes(page, root)) {
      if ((flags & branch) !== 0) this.tree(this.#child(page, node));
      else if ((flags & leaf) !== 0) this.#leafNode(page, node, root);
      else throw new DamagedFile(`page ${root} is neither branch nor leaf`);
    }
  }

  #nodes(page: Buffer, number: bigint): number[] {
    const lower = page.readUInt16LE(20);
    if (lower > this.#pageSize - headerBytes) throw new DamagedFile(`page ${number} has an impossible size`);
    const nodes: number[] = [];
    // Offsets count from behind the header.
    for (let at = headerBytes; at < headerBytes + lower; at += 2) nodes.push(headerBytes + page.readUInt16LE(at));
    if (nodes.some((node) => node + 8 > this.#pageSize)) throw new DamagedFile(`page ${number} has an impossible node`);
    return nodes;
  }

  /** A branch node keeps the child's page number where a leaf keeps size and flags: 48 bits. */
  #child(page: Buffer, node: number): bigint {
    return BigInt(page.readUIntLE(node, 6));
  }

  #leafNode(page: Buffer, node: number, number: bigint): void {
    const flags = page.readUInt16LE(node + 4);
    const data = node + 8 + page.readUInt16LE(node + 6);
    if ((flags & (subTree | bigData)) === 0) return;
    if (data + 24 > this.#pageSize) throw new DamagedFile(`page ${number} has an impossible node`);
    if ((flags & subTree) !== 0) this.tree(page.readBigUInt64LE(data + 40));
    else this.#overflow(page.readBigUInt64LE(data), page.readUInt32LE(node));
  }

  #overflow(number: bigint, bytes: number): void {
    const page = this.#page(number, 32);
    if ((page.readUInt16LE(18) & overflow) === 0) throw new DamagedFile(`page ${number} is no overflow page`);
    if (Number(number) * this.#pageSize + headerBytes + bytes > this.#size) {
      throw new DamagedFile(`page ${number} lies behind the end of the file`);
    }
  }

  #page(number: bigint, bytes = this.#pageSize): Buffer {
    const page = Buffer.allocUnsafe(bytes);
    const read = readSync(this.#fd, page, 0, bytes, Number(number) * this.#pageSize);
    if (read < bytes) throw new DamagedFile(`page ${number} lies behind the end of the file`);
    if (page.readBigUInt64LE(0) !== number) throw new DamagedFile(`page ${number} holds something else`);
    return page;
  }
}
