/** Responses in YAML as Go prints it: keys in order, lists not indented, quotes as in Go. */
import { Document, visit } from 'yaml';
import type { Exchange } from './exchange.js';

const goStyle = { version: '1.1', sortMapEntries: true } as const;
const goForm = { indentSeq: false, lineWidth: 0 } as const;

export function goYaml(value: unknown): string {
  const document = new Document(value, goStyle);
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && wantsSingleQuotes(node.value)) node.type = 'QUOTE_SINGLE';
    },
  });
  // The library takes a single dot for a number; it is a key in every field set.
  return document.toString(goForm).replace(/^((?:- | )*)"\.": /gm, '$1.: ');
}

/** Text that needs quotes; text that looks like a number or a YAML keyword gets double quotes. */
function wantsSingleQuotes(text: string): boolean {
  // Most texts need no quotes: checked first.
  if (/^(f:)?[\w./-]+$/.test(text)) return false;
  if (text === '' || /[\n\t\u0000-\u001f\u007f-\uffff]/.test(text)) return false;
  const written = new Document(text, goStyle).toString(goForm).trimEnd();
  if (!written.startsWith('"')) return false;
  const plain = new Document(`${text}x`, goStyle);
  return plain.toString(goForm).startsWith('"') || /^[\s]|[\s:]$/.test(text);
}

export function answerYaml(exchange: Exchange, code: number, body: unknown): void {
  exchange.respond(code, { 'content-type': 'application/yaml' }, goYaml(body));
}
