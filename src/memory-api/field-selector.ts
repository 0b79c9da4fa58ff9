/** Field selectors in their text form: `metadata.name=a,status.phase!=Running`. Parsed and rejected as Kubernetes does. */
import { SelectorError } from '../api/label-selector.js';
import { checkPathSegment } from '../api/names.js';

export interface FieldTerm {
  field: string;
  operator: '=' | '!=';
  value: string;
}

export function parseFieldSelector(text: string): FieldTerm[] {
  return splitTerms(text)
    .filter((part) => part !== '')
    .sort()
    .map((part) => {
      const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
      if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${part}'`);
      return { field: match[1]!, operator: match[2] === '!=' ? '!=' : '=', value: unescapeValue(match[3]!) };
    });
}

/** The value that the selector requires of a field, if it requires one. */
export function exactValue(selector: FieldTerm[], field: string): string | undefined {
  return selector.find((term) => term.field === field && term.operator === '=')?.value;
}

/** The name that a selector's text requires, if it requires a valid one. */
export function exactName(text: string): string | undefined {
  try {
    const name = exactValue(parseFieldSelector(text), 'metadata.name');
    return name === undefined || name === '' || checkPathSegment(name).length > 0 ? undefined : name;
  } catch {
    return undefined;
  }
}

/** Commas separate terms, unless they follow a backslash. */
function splitTerms(text: string): string[] {
  if (text === '') return [];
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescapeValue(value: string): string {
  let plain = '';
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!;
    if (char === '\\') {
      const next = value[++at] ?? '';
      if (next !== '\\' && next !== ',' && next !== '=') {
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
      }
      plain += next;
    } else if (char === '=' || char === ',') {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else plain += char;
  }
  return plain;
}
