/**
 * Turns YAML nodes into data as Go's sigs.k8s.io/yaml does on its way to JSON: aliases and merge keys expanded, keys made
 * text, the last of equal keys kept, keys sorted.
 */
import type { Position } from '../model.js';
import type { Entry, Value } from '../value.js';
import { type AliasNode, type MappingNode, type Node, parseYaml, type ScalarNode } from './parser.js';
import { resolveScalar, TagError } from './resolve.js';
import { YamlError } from './tokens.js';

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
  duplicates: Duplicate[];
}

export function readYaml(text: string): YamlDocument {
  const root = parseYaml(text);
  if (root === undefined) return { value: undefined, duplicates: [] };
  const composer = new Composer();
  return { value: composer.value(root), duplicates: composer.duplicates };
}

/** Entries by typed key: the integer 1 and the text "1" are two keys until they become JSON. */
type Entries = Map<string, Entry>;

class Composer {
  readonly duplicates: Duplicate[] = [];
  private readonly path: string[] = [];
  private readonly open = new Set<AliasNode>();
  private decoded = 0;
  private decodedInAliases = 0;
  private aliasDepth = 0;

  value(node: Node): Value {
    this.count(node);
    switch (node.kind) {
      case 'alias':
        return this.within(node, () => this.value(node.target));
      case 'scalar':
        return scalarValue(node);
      case 'sequence':
        return {
          kind: 'array',
          items: node.items.map((item, index) => this.at(String(index), () => this.value(item))),
          at: position(node),
        };
      case 'mapping': {
        const entries: Entries = new Map();
        this.pairs(node, entries);
        return { kind: 'object', entries: toJsonEntries(entries), at: position(node) };
      }
    }
  }

  private pairs(node: MappingNode, into: Entries): void {
    for (const [keyNode, valueNode] of node.pairs) {
      if (isMerge(keyNode)) {
        this.merge(valueNode, into);
        continue;
      }
      const { typed, text, shown } = this.key(keyNode);
      const value = this.at(text, () => this.value(valueNode));
      if (into.has(typed)) {
        const at = position(keyNode);
        const message = `key ${shown} already set in map`;
        this.duplicates.push({ path: [...this.path, text], at, message, line: valueNode.line + 1 });
      }
      into.set(typed, { key: text, keyAt: position(keyNode), value });
    }
  }

  private key(node: Node): { typed: string; text: string; shown: string } {
    const target = node.kind === 'alias' ? node.target : node;
    if (node.kind === 'alias') this.count(node);
    this.count(target);
    if (target.kind !== 'scalar') throw failAt(node, 'invalid map key: a map or a list cannot be a key');
    const key = resolveAt(target);
    switch (key.type) {
      case 'str':
        return { typed: `s${key.value}`, text: key.value, shown: JSON.stringify(key.value) };
      case 'bool':
        return { typed: `b${key.value}`, text: String(key.value), shown: String(key.value) };
      case 'int':
        if (BigInt(key.text) >= 2n ** 63n) throw unsupportedKey(node, 'uint64', `0x${BigInt(key.text).toString(16)}`);
        return { typed: `i${key.text}`, text: key.text, shown: key.text };
      case 'float':
        return { typed: `f${key.value}`, text: floatKey(key.value), shown: String(key.value) };
      case 'null':
        throw unsupportedKey(node, '%!s(<nil>)', '<nil>');
    }
  }

  /** Earlier maps of a list win; keys already set are overwritten, later ones overwrite. */
  private merge(node: Node, into: Entries): void {
    const maps = node.kind === 'sequence' ? [...node.items].reverse() : [node];
    for (const map of maps) {
      const target = map.kind === 'alias' ? map.target : map;
      if (target.kind !== 'mapping') throw failAt(node, 'map merge requires map or sequence of maps as the value');
      this.count(map);
      if (map.kind === 'alias') this.count(target);
      const take = () => this.pairs(target, into);
      if (map.kind === 'alias') this.within(map, take);
      else take();
    }
  }

  private at<T>(key: string, work: () => T): T {
    this.path.push(key);
    const result = work();
    this.path.pop();
    return result;
  }

  private within<T>(alias: AliasNode, work: () => T): T {
    if (this.open.has(alias)) throw failAt(alias, `anchor '${alias.name}' value contains itself`);
    this.open.add(alias);
    this.aliasDepth++;
    const result = work();
    this.aliasDepth--;
    this.open.delete(alias);
    return result;
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

function scalarValue(node: ScalarNode): Value {
  const at = position(node);
  const resolved = resolveAt(node);
  switch (resolved.type) {
    case 'null':
      return { kind: 'null', at };
    case 'bool':
      return { kind: 'bool', value: resolved.value, at };
    case 'int':
      return { kind: 'number', text: resolved.text, at };
    case 'float':
      if (!Number.isFinite(resolved.value))
        throw new YamlError(`json: unsupported value: ${goFloat(resolved.value)}`, node.line, node.column);
      return { kind: 'number', text: Object.is(resolved.value, -0) ? '-0' : String(resolved.value), at };
    case 'str':
      return { kind: 'string', value: resolved.value, at };
  }
}

function resolveAt(node: ScalarNode): ReturnType<typeof resolveScalar> {
  if (node.tag === '' && !node.implicit) return { type: 'str', value: node.text };
  try {
    return resolveScalar(node.text, node.tag);
  } catch (error) {
    if (error instanceof TagError) throw failAt(node, error.message);
    throw error;
  }
}

function toJsonEntries(entries: Entries): Entry[] {
  const byText = new Map<string, Entry>();
  for (const entry of entries.values()) byText.set(entry.key, entry);
  return [...byText.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf';
  return String(Number(value.toPrecision(8)));
}

function goFloat(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** Go adds the value; it is left out here. */
function unsupportedKey(node: Node, type: string, shown: string): YamlError {
  return new YamlError(`Unsupported map key of type: ${type}, key: ${shown}`, node.line, node.column);
}

function failAt(node: Node, problem: string): YamlError {
  return new YamlError(`yaml: ${problem}`, node.line, node.column);
}

function position(node: Node): Position {
  return { line: node.line + 1, column: node.column + 1 };
}
