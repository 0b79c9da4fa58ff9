/**
 * Parses label selectors in their text form, `env=prod,tier in (web,db),!old`, with the errors of Kubernetes; and matches labels
 * against them, or against the object form `{matchLabels, matchExpressions}`.
 */
import { quote } from '../go/quote.js';
import { checkLabelValue, checkQualifiedName } from './names.js';

export type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

export interface LabelRequirement {
  key: string;
  operator: LabelOperator;
  values: string[];
}

/** The text is not a selector; the message is what Kubernetes answers. */
export class SelectorError extends Error {}

export function parseLabelSelector(text: string): LabelRequirement[] {
  return new Parser(scan(text)).parse();
}

export function matchesLabels(selector: LabelRequirement[], labels: Record<string, string> | undefined): boolean {
  return selector.every((requirement) => isMet(requirement, labels ?? {}));
}

/** As in the spec of an object. */
export interface LabelSelectorObject {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[];
}

/** An empty selector selects everything; an operator that does not exist, nothing. */
export function selectsLabels(selector: LabelSelectorObject, labels: Record<string, string> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.keys(matchLabels).every((key) => labelOf(key) === matchLabels[key]) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(key);
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      return operator === 'Exists' ? value !== undefined : operator === 'DoesNotExist' && value === undefined;
    })
  );
}

function isMet({ key, operator, values }: LabelRequirement, labels: Record<string, string>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case '=':
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case '>':
    case '<': {
      if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
      const [left, right] = [BigInt(value), BigInt(values[0]!)];
      return operator === '>' ? left > right : left < right;
    }
  }
}

interface Token {
  type: 'identifier' | 'end' | 'error' | '(' | ')' | ',' | '!' | '==' | '=' | '>' | 'in' | '<' | '!=' | 'notin';
  text: string;
}

const symbols: ReadonlySet<string> = new Set([')', ',', '!', '==', '=', '>', '<', '!=', '(']);

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (/[ \t\r\n]/.test(text[at]!)) at++;
    else if (/[=!(),<>]/.test(text[at]!)) {
      const symbol = symbolAt(text, at);
      tokens.push({ type: symbol as Token['type'], text: symbol });
      at += symbol.length;
    } else {
      const word = /^[^=!(),<> \t\r\n]+/.exec(text.slice(at))![0];
      tokens.push({ type: word === 'in' || word === 'notin' ? word : 'identifier', text: word });
      at += word.length;
    }
  }
  tokens.push({ type: 'end', text: '' });
  return tokens;
}

/** The longest symbol that begins here. */
function symbolAt(text: string, at: number): string {
  const two = text.slice(at, at + 2);
  return symbols.has(two) ? two : text[at]!;
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const { type, text } = this.#peek();
      if (type === 'end') return requirements;
      if (type !== 'identifier' && type !== '!') {
        throw new SelectorError(`found '${text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.type === 'end') return requirements;
      if (next.type !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.type !== 'identifier' && following.type !== '!') {
        throw new SelectorError(`found '${following.text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): LabelRequirement {
    const first = this.#take();
    const isNegated = first.type === '!';
    const key = isNegated ? this.#take() : first;
    if (key.type !== 'identifier') throw unparsable(`found '${key.text}', expected: identifier`);
    const problems = checkQualifiedName(key.text);
    if (problems.length > 0) {
      throw unparsable(`<nil>: Invalid value: ${quote(key.text)}: ${problems.join('; ')}`);
    }
    const next = this.#peek().type;
    // `!key=value` is read as `!key` and then fails on what follows.
    if (isNegated) return { key: key.text, operator: '!', values: [] };
    if (next === 'end' || next === ',') return { key: key.text, operator: 'exists', values: [] };
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : this.#exactValue();
    checkValues(key.text, operator, values);
    return { key: key.text, operator, values };
  }

  #operator(): LabelOperator {
    const { type, text } = this.#take('words');
    if (type === '==') return '=';
    if (type === '=' || type === '!=' || type === '>' || type === '<' || type === 'in' || type === 'notin') return type;
    throw unparsable(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
  }

  #values(): string[] {
    const open = this.#take();
    if (open.type !== '(') throw unparsable(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.type === ')') {
      this.#take();
      return [''];
    }
    if (first.type !== 'identifier' && first.type !== ',') {
      throw unparsable(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = this.#identifiers();
    // Kubernetes names the first token here, not the one it found.
    if (this.#take().type !== ')') throw unparsable(`found '${first.text}', expected: ')'`);
    return [...values].sort();
  }

  #identifiers(): Set<string> {
    const values = new Set<string>();
    for (;;) {
      const { type, text } = this.#take();
      if (type === 'identifier') {
        values.add(text);
        const next = this.#peek();
        if (next.type === ')') return values;
        if (next.type !== ',') throw unparsable(`found '${next.text}', expected: ',' or ')'`);
      } else if (type === ',') {
        if (values.size === 0) values.add('');
        const next = this.#peek().type;
        if (next === ')') return values.add('');
        if (next === ',') {
          this.#take();
          values.add('');
        }
      } else throw unparsable(`found '${text}', expected: ',', or identifier`);
    }
  }

  #exactValue(): string[] {
    const next = this.#peek().type;
    if (next === 'end' || next === ',') return [''];
    const { type, text } = this.#take();
    if (type !== 'identifier') throw unparsable(`found '${text}', expected: identifier`);
    return [text];
  }

  #peek(): Token {
    return asIdentifier(this.#tokens[this.#at]!);
  }

  /** Except where an operator is expected, `in` and `notin` are identifiers like any other. */
  #take(reading: 'values' | 'words' = 'values'): Token {
    const token = this.#tokens[Math.min(this.#at++, this.#tokens.length - 1)]!;
    return reading === 'words' ? token : asIdentifier(token);
  }
}

function asIdentifier(token: Token): Token {
  return token.type === 'in' || token.type === 'notin' ? { ...token, type: 'identifier' } : token;
}

function unparsable(why: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${why}`);
}

function checkValues(key: string, operator: LabelOperator, values: string[]): void {
  const errors: string[] = [];
  values.forEach((value, index) => {
    if ((operator === '>' || operator === '<') && !/^[+-]?\d+$/.test(value)) {
      const why = "for 'Gt', 'Lt' operators, the value must be an integer";
      errors.push(`values[${index}]: Invalid value: ${quote(value)}: ${why}`);
    }
  });
  values.forEach((value, index) => {
    const problems = checkLabelValue(value);
    if (problems.length > 0) {
      errors.push(`values[${index}][${key}]: Invalid value: ${quote(value)}: ${problems.join('; ')}`);
    }
  });
  if (errors.length > 0) throw unparsable(errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`);
}
