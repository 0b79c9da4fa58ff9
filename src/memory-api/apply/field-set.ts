/**
 * Sets of fields in the form of managedFields: a tree of path elements. `f:name` is a field, `k:{…}` an item of a
 * list by its keys, `v:…` one by its value, `i:…` one by its index, `.` the element itself.
 *
 *     {"f:data": {".": {}, "f:a": {}}}    data itself and data.a
 *     {"f:data": {"f:a": {}}}             data.a alone
 *
 * Sets are immutable and share what stays the same: `result === set` means that nothing changed.
 */
import { sortElements } from './path-element.js';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

type Tree = Record<string, FieldSet>;

export const nothing: FieldSet = Object.freeze({});
/** In the set, with nothing below it. */
export const leaf: FieldSet = Object.freeze({});
const self = '.';

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Below an element an empty tree means the element itself. */
function isMember(tree: FieldSet): boolean {
  return self in tree || isEmpty(tree);
}

function hasChildren(tree: FieldSet): boolean {
  for (const element in tree) if (element !== self) return true;
  return false;
}

/** The tree with or without the element itself; undefined when nothing is left. */
function withSelf(tree: FieldSet, isIn: boolean): FieldSet | undefined {
  if (!hasChildren(tree)) return !isIn ? undefined : isEmpty(tree) ? tree : leaf;
  if (self in tree === isIn) return tree;
  if (isIn) return { [self]: leaf, ...tree };
  const { [self]: _, ...children } = tree;
  return children;
}

/** Children of an element, or a whole set: what is in either. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  let result: Tree | undefined;
  for (const element in b) {
    if (element === self) continue;
    const mine = a[element];
    const joined = mine === undefined ? b[element]! : unionTrees(mine, b[element]!);
    if (joined === mine) continue;
    result ??= { ...a };
    result[element] = joined;
  }
  return result === undefined ? a : sorted(result);
}

function unionTrees(a: FieldSet, b: FieldSet): FieldSet {
  return withSelf(union(a, b), isMember(a) || isMember(b))!;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const result: Tree = {};
  for (const element in a) {
    const theirs = b[element];
    if (element === self || theirs === undefined) continue;
    const mine = a[element]!;
    const common = withSelf(intersection(mine, theirs), isMember(mine) && isMember(theirs));
    if (common !== undefined) result[element] = common;
  }
  return result;
}

/** Elements in `a` and not in `b`. Those below an element of `b` stay. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, (mine, theirs) => withSelf(difference(mine, theirs), isMember(mine) && !isMember(theirs)));
}

/** As difference, but also removes what is below an element of `b`. */
export function deepDifference(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, (mine, theirs) =>
    isMember(theirs) ? undefined : withSelf(deepDifference(mine, theirs), isMember(mine)),
  );
}

function without(a: FieldSet, b: FieldSet, rest: (mine: FieldSet, theirs: FieldSet) => FieldSet | undefined): FieldSet {
  let result: Tree | undefined;
  for (const element in b) {
    const mine = a[element];
    if (element === self || mine === undefined) continue;
    const left = rest(mine, b[element]!);
    if (left === mine) continue;
    result ??= { ...a };
    if (left === undefined) delete result[element];
    else result[element] = left;
  }
  return result ?? a;
}

/** Whether the element itself is in the set, and its children. */
export function has(set: FieldSet, element: string): boolean {
  const tree = set[element];
  return tree !== undefined && isMember(tree);
}

export function below(set: FieldSet, element: string): FieldSet {
  return set[element] ?? nothing;
}

/** The set with the element too, and its children as they are or as given. */
export function addElement(set: FieldSet, element: string, children: FieldSet = below(set, element)): FieldSet {
  return { ...set, [element]: withSelf(children, true)! };
}

export function fromPaths(...paths: string[][]): FieldSet {
  const result: Tree = {};
  for (const path of paths) insert(result, path);
  return result;
}

/**
 * Adds a path to a set that is being built here, in place. Containers on the way are not added themselves. A member
 * without children is always `leaf` here, so a large container need not be checked for emptiness.
 */
export function insert(set: FieldSet, path: readonly string[]): void {
  if (path.length === 0) return;
  let at = set as Tree;
  for (const element of path.slice(0, -1)) {
    const tree = at[element];
    if (tree === undefined) at[element] = {};
    else if (tree === leaf) at[element] = { [self]: leaf };
    at = at[element] as Tree;
  }
  const last = path.at(-1)!;
  const tree = at[last] as Tree | undefined;
  if (tree === undefined) at[last] = leaf;
  else if (tree !== leaf) tree[self] = leaf;
}

/** Every path that is in the set: at each level first its members, then those below. */
export function* paths(set: FieldSet, prefix: string[] = []): Generator<string[]> {
  const elements = sortElements(Object.keys(set).filter((element) => element !== self));
  for (const element of elements) if (isMember(set[element]!)) yield [...prefix, element];
  for (const element of elements) yield* paths(set[element]!, [...prefix, element]);
}

/** In the order in which Kubernetes writes it, all the way down. */
export function sortedDeep(set: FieldSet): FieldSet {
  const result: Tree = {};
  for (const element of sortElements(Object.keys(set))) result[element] = sortedDeep(set[element]!);
  return result;
}

function sorted(tree: Tree): FieldSet {
  return Object.fromEntries(sortElements(Object.keys(tree)).map((element) => [element, tree[element]!]));
}
