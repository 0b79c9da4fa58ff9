/** Builds nodes from tokens. Only the first document of a stream is parsed, as in the kubelet. */
import { misreadMark } from './byte-order-mark.js';
import type { Dialect } from './dialect.js';
import { Scanner } from './scanner.js';
import { type Token, type TokenType, YamlError } from './tokens.js';
import { type Level, unroll } from './unroll.js';

interface Place {
  /** From 0. */
  line: number;
  column: number;
}
export interface ScalarNode extends Place {
  kind: 'scalar';
  text: string;
  tag: string;
  /** Its type is found from its text: plain, without a tag. */
  implicit: boolean;
}
export interface SequenceNode extends Place {
  kind: 'sequence';
  items: Node[];
}
export interface MappingNode extends Place {
  kind: 'mapping';
  pairs: (readonly [key: Node, value: Node])[];
}
export interface AliasNode extends Place {
  kind: 'alias';
  name: string;
  target: Exclude<Node, AliasNode>;
}
export type Node = ScalarNode | SequenceNode | MappingNode | AliasNode;

/** Context in which a node may begin: block or flow; `indentless`: a sequence as deep as the key above it. */
interface Wanted {
  block: boolean;
  indentless: boolean;
}
type Collection = Level<Wanted, Node>;

/** Tokens in whose place there is an empty node. */
const endsBlockItem: readonly TokenType[] = ['block-entry', 'block-end'];
const endsIndentless: readonly TokenType[] = ['block-entry', 'key', 'value', 'block-end'];
const endsBlockPair: readonly TokenType[] = ['key', 'value', 'block-end'];
const endsSinglePair: readonly TokenType[] = ['flow-entry', 'flow-sequence-end'];
const endsFlowPair: readonly TokenType[] = ['flow-entry', 'flow-mapping-end'];

const flowNode: Wanted = { block: false, indentless: false };
const blockNode: Wanted = { block: true, indentless: false };
const valueNode: Wanted = { block: true, indentless: true };

export interface FirstDocument {
  /** Undefined for a stream without a document. */
  root: Node | undefined;
  /** Start of content that Go ignores. */
  ignoredAt?: Place;
}

export function parseYaml(text: string, dialect: Dialect): FirstDocument {
  const control = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/.exec(text);
  if (control !== null) throw errorAt(text, control.index, 'control characters are not allowed');
  const mark = misreadMark(text);
  if (mark !== undefined) throw errorAt(text, mark, misplacedMark, true);
  const parser = new Parser(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, dialect);
  const root = parser.document();
  const ignoredAt = root && parser.nextContent();
  return { root, ...(ignoredAt && { ignoredAt }) };
}

const misplacedMark =
  'a byte order mark (U+FEFF) is where the kubelet would drop characters of the lines behind it: remove it';

function errorAt(text: string, index: number, problem: string, isOurs = false): YamlError {
  const before = text.slice(0, index).split('\n');
  return new YamlError(`yaml: ${problem}`, before.length - 1, before[before.length - 1]!.length, isOurs);
}

class Parser {
  private readonly scanner: Scanner;
  private readonly dialect: Dialect;
  private readonly anchors = new Map<string, Exclude<Node, AliasNode>>();
  private readonly tagPrefixes = new Map<string, string>();

  constructor(text: string, dialect: Dialect) {
    this.scanner = new Scanner(text, dialect);
    this.dialect = dialect;
  }

  document(): Node | undefined {
    const first = this.scanner.peek();
    if (first.type === 'stream-end') return undefined;
    const explicit = ['version-directive', 'tag-directive', 'document-start'].includes(first.type);
    this.directives();
    if (explicit) {
      const start = this.scanner.peek();
      if (start.type !== 'document-start') this.fail('did not find expected <document start>', start);
      this.scanner.take();
    }
    const next = this.scanner.peek();
    const empty = ['version-directive', 'tag-directive', 'document-start', 'document-end', 'stream-end'];
    const root =
      explicit && empty.includes(next.type) ? emptyScalar(next) : unroll(blockNode, (wanted) => this.begin(wanted));
    // Go looks one token further before it is satisfied; what cannot be read there is an error.
    let end = this.scanner.peek();
    if (this.dialect.endsWithDocument) return root;
    while (end.type === 'document-end') {
      this.scanner.take();
      end = this.scanner.peek();
    }
    if (!empty.includes(end.type)) this.fail('did not find expected <document start>', end);
    return root;
  }

  /** The first token of whatever follows the document; undefined when nothing does. What cannot be read is content too. */
  nextContent(): Place | undefined {
    try {
      for (;;) {
        const token = this.scanner.peek();
        if (token.type === 'stream-end') return undefined;
        if (token.type !== 'document-start' && token.type !== 'document-end') return token;
        this.scanner.take();
      }
    } catch (error) {
      if (error instanceof YamlError) return { line: error.line - 1, column: error.column - 1 };
      throw error;
    }
  }

  private directives(): void {
    let hasVersion = false;
    for (let token = this.scanner.peek(); ; token = this.scanner.peek()) {
      if (token.type === 'version-directive') {
        if (hasVersion) this.fail('found duplicate %YAML directive', token);
        if (token.value !== '1.1') this.fail('found incompatible YAML document', token);
        hasVersion = true;
      } else if (token.type === 'tag-directive') {
        if (this.tagPrefixes.has(token.value)) this.fail('found duplicate %TAG directive', token);
        this.tagPrefixes.set(token.value, token.suffix);
      } else break;
      this.scanner.take();
    }
    if (!this.tagPrefixes.has('!')) this.tagPrefixes.set('!', '!');
    if (!this.tagPrefixes.has('!!')) this.tagPrefixes.set('!!', 'tag:yaml.org,2002:');
  }

  /** A scalar or an alias, or a collection that is still to be read. */
  private begin({ block, indentless }: Wanted): Node | Collection {
    const start = this.scanner.peek();
    if (start.type === 'alias') return this.alias(this.scanner.take());
    const { anchor, tag } = this.properties();
    const token = this.scanner.peek();
    const at = { line: start.line, column: start.column };
    if (token.type === 'scalar') {
      this.scanner.take();
      const implicit = (tag === '' && token.plain) || tag === '!';
      return this.register(anchor, { kind: 'scalar', text: token.value, tag, implicit, ...at });
    }
    if (!beginsCollection(token, block, indentless)) {
      if (anchor === undefined && tag === '') this.fail('did not find expected node content', token, start);
      return this.register(anchor, { kind: 'scalar', text: '', tag, implicit: tag === '', ...at });
    }
    if (token.type === 'flow-mapping-start' || token.type === 'block-mapping-start') {
      const mapping = this.register<MappingNode>(anchor, { kind: 'mapping', pairs: [], ...at });
      return token.type === 'flow-mapping-start' ? this.flowMapping(mapping, token) : this.blockMapping(mapping, token);
    }
    const sequence = this.register<SequenceNode>(anchor, { kind: 'sequence', items: [], ...at });
    if (token.type === 'block-entry') return this.indentlessSequence(sequence);
    return token.type === 'flow-sequence-start'
      ? this.flowSequence(sequence, token)
      : this.blockSequence(sequence, token);
  }

  /** The next node where it is a scalar without anchor and tag, at once: most nodes of a large document are. */
  private plainScalar(): ScalarNode | undefined {
    const { type, value, plain, line, column } = this.scanner.peek();
    if (type !== 'scalar') return undefined;
    this.scanner.take();
    return { kind: 'scalar', text: value, tag: '', implicit: plain, line, column };
  }

  private register<T extends Exclude<Node, AliasNode>>(anchor: string | undefined, node: T): T {
    if (anchor !== undefined) this.anchors.set(anchor, node);
    return node;
  }

  private alias(token: Token): AliasNode {
    const target = this.anchors.get(token.value);
    if (target === undefined)
      throw new YamlError(`yaml: unknown anchor '${token.value}' referenced`, token.line, token.column);
    return { kind: 'alias', name: token.value, target, line: token.line, column: token.column };
  }

  /** Anchor and tag, in either order. */
  private properties(): { anchor: string | undefined; tag: string } {
    let anchor: string | undefined;
    let tagToken: Token | undefined;
    for (;;) {
      const token = this.scanner.peek();
      if (token.type === 'anchor' && anchor === undefined) anchor = token.value;
      else if (token.type === 'tag' && tagToken === undefined) tagToken = token;
      else break;
      this.scanner.take();
    }
    if (tagToken === undefined) return { anchor, tag: '' };
    if (tagToken.value === '') return { anchor, tag: tagToken.suffix };
    const prefix = this.tagPrefixes.get(tagToken.value);
    if (prefix === undefined) this.fail('found undefined tag handle', tagToken);
    return { anchor, tag: prefix + tagToken.suffix };
  }

  private *blockSequence(node: SequenceNode, start: Token): Collection {
    this.scanner.take();
    for (;;) {
      const token = this.scanner.take();
      if (token.type === 'block-end') return node;
      if (token.type !== 'block-entry') this.fail("did not find expected '-' indicator", token, start);
      node.items.push(this.isNext(endsBlockItem) ? emptyScalar(token) : (this.plainScalar() ?? (yield blockNode)));
    }
  }

  private *indentlessSequence(node: SequenceNode): Collection {
    while (this.scanner.peek().type === 'block-entry') {
      const token = this.scanner.take();
      node.items.push(this.isNext(endsIndentless) ? emptyScalar(token) : (this.plainScalar() ?? (yield blockNode)));
    }
    return node;
  }

  private *blockMapping(node: MappingNode, start: Token): Collection {
    this.scanner.take();
    for (;;) {
      const token = this.scanner.peek();
      if (token.type === 'block-end') {
        this.scanner.take();
        return node;
      }
      if (token.type !== 'key') this.fail('did not find expected key', token, start);
      this.scanner.take();
      const key = this.isNext(endsBlockPair) ? emptyScalar(token) : (this.plainScalar() ?? (yield valueNode));
      const colon = this.scanner.peek();
      if (colon.type === 'value') {
        this.scanner.take();
        node.pairs.push([
          key,
          this.isNext(endsBlockPair) ? emptyScalar(colon) : (this.plainScalar() ?? (yield valueNode)),
        ]);
      } else {
        node.pairs.push([key, emptyScalar(colon)]);
      }
    }
  }

  private isNext(types: readonly TokenType[]): boolean {
    return types.includes(this.scanner.peek().type);
  }

  private *flowSequence(node: SequenceNode, start: Token): Collection {
    this.scanner.take();
    for (let first = true; ; first = false) {
      if (this.scanner.peek().type === 'flow-sequence-end') break;
      if (!first) {
        const comma = this.scanner.peek();
        if (comma.type !== 'flow-entry') this.fail("did not find expected ',' or ']'", comma, start);
        this.scanner.take();
      }
      const token = this.scanner.peek();
      if (token.type === 'key') node.items.push(yield* this.singlePair(this.scanner.take()));
      else if (token.type !== 'flow-sequence-end') node.items.push(this.plainScalar() ?? (yield flowNode));
      else break;
    }
    this.scanner.take();
    return node;
  }

  /** `[a: b]`: a mapping of one pair inside a sequence. */
  private *singlePair(keyToken: Token): Collection {
    const token = this.scanner.peek();
    let key: Node;
    if (token.type === 'value' || endsSinglePair.includes(token.type)) {
      this.scanner.take();
      key = emptyScalar(token);
    } else key = yield flowNode;
    let value: Node | undefined;
    if (this.scanner.peek().type === 'value') {
      this.scanner.take();
      if (!this.isNext(endsSinglePair)) value = this.plainScalar() ?? (yield flowNode);
    }
    value ??= emptyScalar(this.scanner.peek());
    return { kind: 'mapping', pairs: [[key, value]], line: keyToken.line, column: keyToken.column };
  }

  private *flowMapping(node: MappingNode, start: Token): Collection {
    this.scanner.take();
    for (let first = true; ; first = false) {
      if (this.scanner.peek().type === 'flow-mapping-end') break;
      if (!first) {
        const comma = this.scanner.peek();
        if (comma.type !== 'flow-entry') this.fail("did not find expected ',' or '}'", comma, start);
        this.scanner.take();
      }
      const token = this.scanner.peek();
      if (token.type === 'flow-mapping-end') break;
      if (token.type !== 'key') {
        node.pairs.push([this.plainScalar() ?? (yield flowNode), emptyScalar(this.scanner.peek())]);
        continue;
      }
      this.scanner.take();
      const next = this.scanner.peek();
      const key =
        next.type === 'value' || endsFlowPair.includes(next.type)
          ? emptyScalar(next)
          : (this.plainScalar() ?? (yield flowNode));
      let value: Node | undefined;
      if (this.scanner.peek().type === 'value') {
        this.scanner.take();
        if (!this.isNext(endsFlowPair)) value = this.plainScalar() ?? (yield flowNode);
      }
      node.pairs.push([key, value ?? emptyScalar(this.scanner.peek())]);
    }
    this.scanner.take();
    return node;
  }

  /** An error of the parser. Go counts lines from 0 here, and falls back to where the construct began. */
  private fail(problem: string, at: Token, context: Token = at): never {
    const line = at.line || context.line;
    throw new YamlError(`yaml: ${line === 0 ? '' : `line ${line}: `}${problem}`, at.line, at.column);
  }
}

function beginsCollection({ type }: Token, block: boolean, indentless: boolean): boolean {
  if (type === 'block-entry') return indentless;
  if (type === 'block-sequence-start' || type === 'block-mapping-start') return block;
  return type === 'flow-sequence-start' || type === 'flow-mapping-start';
}

function emptyScalar(at: Token): ScalarNode {
  return { kind: 'scalar', text: '', tag: '', implicit: true, line: at.line, column: at.column };
}
