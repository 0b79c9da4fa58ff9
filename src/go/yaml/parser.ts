/**
 * Builds nodes from tokens: the first document of a stream, which is all the kubelet reads. What follows it is
 * not looked at, as in Go.
 */
import type { Dialect } from './dialect.js';
import { Scanner } from './scanner.js';
import { type Token, type TokenType, YamlError } from './tokens.js';

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

/** Go allows 10000; no config is ever so deep, and a thousand keeps our stack safe. */
export const maxDepth = 1000;

export interface FirstDocument {
  /** Undefined for a stream without a document. */
  root: Node | undefined;
  /** Where content begins that Go does not look at. */
  ignoredAt?: Place;
}

export function parseYaml(text: string, dialect: Dialect): FirstDocument {
  const control = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/.exec(text);
  if (control !== null) throw controlCharacter(text, control.index);
  const parser = new Parser(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, dialect);
  const root = parser.document();
  const ignoredAt = root && parser.nextContent();
  return { root, ...(ignoredAt && { ignoredAt }) };
}

function controlCharacter(text: string, index: number): YamlError {
  const before = text.slice(0, index).split('\n');
  return new YamlError(
    'yaml: control characters are not allowed',
    before.length - 1,
    before[before.length - 1]!.length,
  );
}

class Parser {
  private readonly scanner: Scanner;
  private readonly dialect: Dialect;
  private readonly anchors = new Map<string, Exclude<Node, AliasNode>>();
  private readonly tagPrefixes = new Map<string, string>();
  private depth = 0;

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
    const root = explicit && empty.includes(next.type) ? emptyScalar(next) : this.node(true, false);
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

  private node(block: boolean, indentless: boolean): Node {
    const start = this.scanner.peek();
    if (start.type === 'alias') return this.alias(this.scanner.take());
    const { anchor, tag } = this.properties();
    const token = this.scanner.peek();
    const register = <T extends Exclude<Node, AliasNode>>(node: T): T => {
      if (anchor !== undefined) this.anchors.set(anchor, node);
      return node;
    };
    const at = { line: start.line, column: start.column };
    if (indentless && token.type === 'block-entry')
      return this.indentlessSequence(register({ kind: 'sequence', items: [], ...at }));
    if (token.type === 'scalar') {
      this.scanner.take();
      const implicit = (tag === '' && token.plain) || tag === '!';
      return register({ kind: 'scalar', text: token.value, tag, implicit, ...at });
    }
    if (token.type === 'flow-sequence-start')
      return this.deeper(token, () => this.flowSequence(register({ kind: 'sequence', items: [], ...at }), token));
    if (token.type === 'flow-mapping-start')
      return this.deeper(token, () => this.flowMapping(register({ kind: 'mapping', pairs: [], ...at }), token));
    if (block && token.type === 'block-sequence-start')
      return this.deeper(token, () => this.blockSequence(register({ kind: 'sequence', items: [], ...at }), token));
    if (block && token.type === 'block-mapping-start')
      return this.deeper(token, () => this.blockMapping(register({ kind: 'mapping', pairs: [], ...at }), token));
    if (anchor !== undefined || tag !== '')
      return register({ kind: 'scalar', text: '', tag, implicit: tag === '', ...at });
    this.fail('did not find expected node content', token, start);
  }

  private deeper<T>(token: Token, parse: () => T): T {
    if (++this.depth > maxDepth) this.fail(`exceeded max depth of ${maxDepth}`, token);
    const node = parse();
    this.depth--;
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

  private blockSequence(node: SequenceNode, start: Token): SequenceNode {
    this.scanner.take();
    for (;;) {
      const token = this.scanner.take();
      if (token.type === 'block-end') return node;
      if (token.type !== 'block-entry') this.fail("did not find expected '-' indicator", token, start);
      node.items.push(this.entryOr(['block-entry', 'block-end'], token, false));
    }
  }

  private indentlessSequence(node: SequenceNode): SequenceNode {
    while (this.scanner.peek().type === 'block-entry') {
      const token = this.scanner.take();
      node.items.push(this.entryOr(['block-entry', 'key', 'value', 'block-end'], token, false));
    }
    return node;
  }

  private blockMapping(node: MappingNode, start: Token): MappingNode {
    const closing: TokenType[] = ['key', 'value', 'block-end'];
    this.scanner.take();
    for (;;) {
      const token = this.scanner.peek();
      if (token.type === 'block-end') {
        this.scanner.take();
        return node;
      }
      if (token.type !== 'key') this.fail('did not find expected key', token, start);
      this.scanner.take();
      const key = this.entryOr(closing, token, true);
      const colon = this.scanner.peek();
      if (colon.type === 'value') {
        this.scanner.take();
        node.pairs.push([key, this.entryOr(closing, colon, true)]);
      } else {
        node.pairs.push([key, emptyScalar(colon)]);
      }
    }
  }

  /** A block node, or an empty one when the next token closes it. */
  private entryOr(closing: TokenType[], before: Token, indentless: boolean): Node {
    if (closing.includes(this.scanner.peek().type)) return emptyScalar(before);
    return this.node(true, indentless);
  }

  private flowSequence(node: SequenceNode, start: Token): SequenceNode {
    this.scanner.take();
    for (let first = true; ; first = false) {
      if (this.scanner.peek().type === 'flow-sequence-end') break;
      if (!first) {
        const comma = this.scanner.peek();
        if (comma.type !== 'flow-entry') this.fail("did not find expected ',' or ']'", comma, start);
        this.scanner.take();
      }
      const token = this.scanner.peek();
      if (token.type === 'key') node.items.push(this.singlePair(this.scanner.take()));
      else if (token.type !== 'flow-sequence-end') node.items.push(this.node(false, false));
      else break;
    }
    this.scanner.take();
    return node;
  }

  /** `[a: b]`: a mapping of one pair inside a sequence. */
  private singlePair(keyToken: Token): MappingNode {
    const closing: TokenType[] = ['flow-entry', 'flow-sequence-end'];
    const token = this.scanner.peek();
    let key: Node;
    if (token.type === 'value' || closing.includes(token.type)) {
      this.scanner.take();
      key = emptyScalar(token);
    } else key = this.node(false, false);
    let value: Node | undefined;
    if (this.scanner.peek().type === 'value') {
      this.scanner.take();
      if (!closing.includes(this.scanner.peek().type)) value = this.node(false, false);
    }
    value ??= emptyScalar(this.scanner.peek());
    return { kind: 'mapping', pairs: [[key, value]], line: keyToken.line, column: keyToken.column };
  }

  private flowMapping(node: MappingNode, start: Token): MappingNode {
    const closing: TokenType[] = ['flow-entry', 'flow-mapping-end'];
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
        node.pairs.push([this.node(false, false), emptyScalar(this.scanner.peek())]);
        continue;
      }
      this.scanner.take();
      const next = this.scanner.peek();
      const key = next.type === 'value' || closing.includes(next.type) ? emptyScalar(next) : this.node(false, false);
      let value: Node | undefined;
      if (this.scanner.peek().type === 'value') {
        this.scanner.take();
        if (!closing.includes(this.scanner.peek().type)) value = this.node(false, false);
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

function emptyScalar(at: Token): ScalarNode {
  return { kind: 'scalar', text: '', tag: '', implicit: true, line: at.line, column: at.column };
}
