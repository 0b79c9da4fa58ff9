/**
 * Converts YAML nodes to data as Go's sigs.k8s.io/yaml does on its way to JSON: expands aliases and merge keys, turns keys into text,
 * keeps the last of equal keys, and sorts the keys.
 */

import { type Dialect, newestDialect } from './dialect.js';
import {
  type AliasNode,
  type MappingNode,
  type Node,
  parseYaml,
  type ScalarNode,
  type SequenceNode,
} from './parser.js';
import { resolveScalar, TagError } from './resolve.js';
import { YamlError } from './tokens.js';
import { type Level, unroll } from './unroll.js';
import type { Entry, Position, Value } from './value.js';

export interface Duplicate {
  /** Keys from the top down to the repeated one. */
  path: string[];
  at: Position;
  /** As Go's strict reader words it, without its line. */
  message: string;
  /** The line Go names: the repeated key's value's. */
  line: number;
}

export interface YamlDocument {
  /** Undefined for an empty stream, which Go takes for null. */
  value: Value | undefined;
  /** The first of them. */
  duplicates: Duplicate[];
  /** How many more there are; absent where there are none. */
  moreDuplicates?: number;
  /** Start of content that Go ignores. */
  ignoredAt?: Position;
}

/** `dialect`: the library changed a little with the kubelet that brought it. */
export function readYaml(text: string, dialect: Dialect = newestDialect): YamlDocument {
  const { root, ignoredAt } = parseYaml(text, dialect);
  if (root === undefined) return { value: undefined, duplicates: [] };
  const composer = new Composer(dialect);
  const value = unroll(root, (node) => composer.begin(node));
  // Values that JSON cannot hold are found only on the way to it, when all of the YAML was read.
  if (composer.badKey !== undefined) throw composer.badKey;
  if (composer.hasInfinity) refuseInfinity(value);
  const { duplicates, moreDuplicates } = composer;
  return {
    value,
    duplicates,
    ...(moreDuplicates > 0 && { moreDuplicates }),
    ...(ignoredAt && { ignoredAt: position(ignoredAt) }),
  };
}

interface Key {
  /** The letter of its type. */
  type: 's' | 'b' | 'i' | 'f' | 'n';
  value: string;
  /** As JSON has it; of a text the same as the value. */
  text: string;
}

/** Entries by typed key: the integer 1 and the text "1" are two keys until they become JSON. */
class Entries {
  private byKey = new Map<string, Entry>();
  /** Nearly all keys are texts: as long as there are no others, they are without the letter of their type. */
  private onlyTexts = true;

  /** True if the key was there. */
  set({ type, value }: Key, entry: Entry): boolean {
    if (this.onlyTexts && type !== 's') {
      this.byKey = new Map([...this.byKey].map(([text, one]) => [`s${text}`, one]));
      this.onlyTexts = false;
    }
    const { size } = this.byKey;
    this.byKey.set(this.onlyTexts ? value : type + value, entry);
    return this.byKey.size === size;
  }

  /** Sorted; of those that have the same key in JSON, the last. */
  inJson(): Entry[] {
    const all = [...this.byKey.values()];
    const entries = this.onlyTexts ? all : [...new Map(all.map((entry) => [entry.key, entry])).values()];
    return entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  }
}

/** A map whose pairs become those of a mapping. Earlier maps of a list win, so the last one is taken first. */
interface Source {
  map: Node;
  /** The value of the merge key. */
  list?: Node;
  pairs?: Iterator<MappingNode['pairs'][number], undefined>;
}

/** Go's limit for JSON. */
const maxDepth = 10_000;

/** The places of duplicates deep inside are cut: nothing that a kubelet knows is so deep. */
const mostPathParts = 50;

/** Duplicates that are listed. A document of 100 kB can have 50,000, and nobody reads so many; the others are counted. */
const mostDuplicates = 100;

class Composer {
  readonly duplicates: Duplicate[] = [];
  moreDuplicates = 0;
  badKey: YamlError | undefined;
  hasInfinity = false;
  private readonly path: string[] = [];
  private readonly open = new Set<AliasNode>();
  private decoded = 0;
  private decodedInAliases = 0;
  private aliasDepth = 0;
  private depth = 0;
  private readonly dialect: Dialect;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  begin(node: Node): Value | Level<Node, Value> {
    if (node.kind === 'scalar') return this.scalar(node);
    this.count(node);
    switch (node.kind) {
      case 'alias':
        return this.alias(node);
      case 'sequence':
        return this.sequence(node);
      case 'mapping':
        return this.mapping(node);
    }
  }

  private *alias(node: AliasNode): Level<Node, Value> {
    this.enter(node);
    const value = yield node.target;
    this.leave(node);
    return value;
  }

  private *sequence(node: SequenceNode): Level<Node, Value> {
    const items: Value[] = [];
    this.descend(node);
    for (const item of node.items) {
      if (item.kind === 'scalar') {
        items.push(this.scalar(item));
        continue;
      }
      this.path.push(String(items.length));
      items.push(yield item);
      this.path.pop();
    }
    this.depth--;
    return { kind: 'array', items, at: position(node) };
  }

  private *mapping(node: MappingNode): Level<Node, Value> {
    const entries = new Entries();
    this.descend(node);
    // The mapping, and on top the maps that are merged into it, which may merge others in turn.
    const open: Source[] = [{ map: node, pairs: node.pairs.values() }];
    for (let source = open.at(-1); source !== undefined; source = open.at(-1)) {
      source.pairs ??= this.beginMerge(source.map, source.list ?? source.map);
      const { done, value: pair } = source.pairs.next();
      if (done) {
        open.pop();
        if (source.map.kind === 'alias') this.leave(source.map);
      } else if (isMerge(pair[0])) {
        for (const map of pair[1].kind === 'sequence' ? pair[1].items : [pair[1]]) open.push({ map, list: pair[1] });
      } else {
        const [keyNode, valueNode] = pair;
        const key = this.key(keyNode);
        let value: Value;
        if (valueNode.kind === 'scalar') value = this.scalar(valueNode);
        else {
          this.path.push(key.text);
          value = yield valueNode;
          this.path.pop();
        }
        const isDuplicate = entries.set(key, { key: key.text, keyAt: position(keyNode), value });
        if (isDuplicate) this.addDuplicate(key, keyNode, valueNode);
      }
    }
    this.depth--;
    return { kind: 'object', entries: entries.inJson(), at: position(node) };
  }

  private addDuplicate({ type, value, text }: Key, keyNode: Node, valueNode: Node): void {
    if (this.duplicates.length >= mostDuplicates) {
      this.moreDuplicates++;
      return;
    }
    const path = [...this.path.slice(0, mostPathParts), text];
    const shown = type === 'n' ? 'interface {}(nil)' : type === 's' ? JSON.stringify(text) : value;
    const message = `key ${shown} already set in map`;
    this.duplicates.push({ path, at: position(keyNode), message, line: valueNode.line + 1 });
  }

  private beginMerge(map: Node, list: Node): Iterator<MappingNode['pairs'][number], undefined> {
    const target = map.kind === 'alias' ? map.target : map;
    if (target.kind !== 'mapping') throw failAt(list, 'map merge requires map or sequence of maps as the value');
    this.count(map);
    if (map.kind === 'alias') {
      this.count(target);
      this.enter(map);
    }
    return target.pairs.values();
  }

  /** At once, without a turn of unroll(): most nodes of a large document are scalars. */
  private scalar(node: ScalarNode): Value {
    this.count(node);
    const at = position(node);
    const resolved = resolveAt(node, this.dialect);
    switch (resolved.type) {
      case 'null':
        return { kind: 'null', at };
      case 'bool':
        return { kind: 'bool', value: resolved.value, at };
      case 'int':
        return { kind: 'number', text: resolved.text, at };
      case 'float':
        if (!Number.isFinite(resolved.value)) this.hasInfinity = true;
        return { kind: 'number', text: goFloat(resolved.value), at };
      case 'str':
        return { kind: 'string', value: resolved.value, at };
    }
  }

  private key(node: Node): Key {
    const target = node.kind === 'alias' ? node.target : node;
    if (node.kind === 'alias') this.count(node);
    this.count(target);
    if (target.kind !== 'scalar') throw failAt(node, 'invalid map key: a map or a list cannot be a key');
    const key = resolveAt(target, this.dialect);
    switch (key.type) {
      case 'str':
        return { type: 's', value: key.value, text: key.value };
      case 'bool':
        return { type: 'b', value: String(key.value), text: String(key.value) };
      case 'int':
        if (BigInt(key.text) >= 2n ** 63n)
          this.badKey ??= unsupportedKey(node, 'uint64', `0x${BigInt(key.text).toString(16)}`);
        return { type: 'i', value: key.text, text: key.text };
      case 'float':
        return { type: 'f', value: String(key.value), text: floatKey(key.value) };
      case 'null':
        this.badKey ??= unsupportedKey(node, '%!s(<nil>)', '<nil>');
        return { type: 'n', value: '', text: '' };
    }
  }

  private descend(node: Node): void {
    // JSON, which Go makes of it, has a limit of its own.
    if (++this.depth <= maxDepth) return;
    const problem = `invalid character '${node.kind === 'sequence' ? '[' : '{'}' exceeded max depth`;
    throw new YamlError(`couldn't get version/kind; json parse error: ${problem}`, node.line, node.column);
  }

  private enter(alias: AliasNode): void {
    if (this.open.has(alias)) throw failAt(alias, `anchor '${alias.name}' value contains itself`);
    this.open.add(alias);
    this.aliasDepth++;
  }

  private leave(alias: AliasNode): void {
    this.aliasDepth--;
    this.open.delete(alias);
  }

  /** Go's guard against alias bombs: the larger the document, the smaller the part that may come from aliases. */
  private count(node: Node): void {
    this.decoded++;
    if (this.aliasDepth > 0) this.decodedInAliases++;
    if (this.decodedInAliases <= 100 || this.decoded <= 1000) return;
    const scale = (this.decoded - 400_000) / 3_600_000;
    const allowed = Math.min(0.99, Math.max(0.1, 0.99 - 0.89 * scale));
    if (this.decodedInAliases / this.decoded > allowed) throw failAt(node, 'document contains excessive aliasing');
  }
}

function isMerge(node: Node): boolean {
  return node.kind === 'scalar' && node.text === '<<' && (node.implicit || node.tag === 'tag:yaml.org,2002:merge');
}

function resolveAt(node: ScalarNode, dialect: Dialect): ReturnType<typeof resolveScalar> {
  if (node.tag === '' && !node.implicit) return { type: 'str', value: node.text };
  try {
    return resolveScalar(node.text, node.tag, dialect);
  } catch (error) {
    if (error instanceof TagError) throw failAt(node, error.message);
    throw error;
  }
}

/** Float keys are written as float32, as short as that allows, with an exponent from a million on. */
function floatKey(value: number): string {
  const single = Math.fround(value);
  if (Number.isNaN(single)) return '.nan';
  if (!Number.isFinite(single)) return single > 0 ? '.inf' : '-.inf';
  let digits = 1;
  while (Math.fround(Number(single.toPrecision(digits))) !== single) digits++;
  const short = Number(single.toPrecision(digits));
  const size = Math.abs(short);
  if (short === 0 || (size >= 1e-4 && size < 1e6)) return Object.is(short, -0) ? '-0' : String(short);
  return short.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** As Go writes a float64 into JSON, which is as JavaScript does but for -0; and the three that JSON cannot hold. */
function goFloat(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}

function refuseInfinity(root: Value): void {
  const pending = [root];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value.kind === 'number' && /^(NaN|[+-]Inf)$/.test(value.text))
      throw new YamlError(`json: unsupported value: ${value.text}`, value.at.line - 1, value.at.column - 1);
    if (value.kind === 'array') for (const item of value.items.toReversed()) pending.push(item);
    if (value.kind === 'object') for (const entry of value.entries.toReversed()) pending.push(entry.value);
  }
}

/** Go adds the value; it is left out here. */
function unsupportedKey(node: Node, type: string, shown: string): YamlError {
  return new YamlError(`Unsupported map key of type: ${type}, key: ${shown}`, node.line, node.column);
}

function failAt(node: Node, problem: string): YamlError {
  return new YamlError(`yaml: ${problem}`, node.line, node.column);
}

function position({ line, column }: { line: number; column: number }): Position {
  return { line: line + 1, column: column + 1 };
}
