/** Reads tags (`!!int`), anchors, aliases and directives. */
import { type Cursor, word } from './cursor.js';

export function scanAnchorName(cursor: Cursor): string {
  cursor.skip();
  const name = cursor.read(word);
  if (name === '' || !(cursor.isBlankOrEnd() || '?:,]}%@`'.includes(cursor.char())))
    cursor.fail('did not find expected alphabetic or numeric character');
  return name;
}

/** Handle and suffix: `!!int` is ['!!', 'int'], `!<x>` is ['', 'x'], a lone `!` is ['', '!']. */
export function scanTag(cursor: Cursor): [handle: string, suffix: string] {
  let handle = '';
  let suffix: string;
  if (cursor.char(1) === '<') {
    cursor.skip(2);
    suffix = scanUri(cursor, '');
    if (cursor.char() !== '>') cursor.fail("did not find the expected '>'");
    cursor.skip();
  } else {
    handle = scanHandle(cursor, false);
    if (handle.length > 1 && handle.endsWith('!')) {
      suffix = scanUri(cursor, '');
    } else {
      suffix = scanUri(cursor, handle);
      handle = '!';
      if (suffix === '') [handle, suffix] = ['', '!'];
    }
  }
  if (!cursor.isBlankOrEnd()) cursor.fail('did not find expected whitespace or line break');
  return [handle, suffix];
}

function scanHandle(cursor: Cursor, inDirective: boolean): string {
  if (cursor.char() !== '!') cursor.fail("did not find expected '!'");
  cursor.skip();
  let handle = `!${cursor.read(word)}`;
  if (cursor.char() === '!') {
    handle += '!';
    cursor.skip();
  } else if (inDirective && handle !== '!') {
    cursor.fail("did not find expected '!'");
  }
  return handle;
}

const uriPart = /[\w\-;/?:@&=+$,.!~*'()[\]]*/y;

/** `head` is a handle that turned out to be the start of the suffix. */
function scanUri(cursor: Cursor, head: string): string {
  let uri = head.slice(1);
  let isTag = head !== '';
  for (;;) {
    const part = cursor.char() === '%' ? scanUriEscapes(cursor) : cursor.read(uriPart);
    if (part === '') break;
    uri += part;
    isTag = true;
  }
  if (!isTag) cursor.fail('did not find expected tag URI');
  return uri;
}

function scanUriEscapes(cursor: Cursor): string {
  const bytes: number[] = [];
  while (cursor.char() === '%') {
    const hex = cursor.text.slice(cursor.index + 1, cursor.index + 3);
    if (!/^[0-9a-fA-F]{2}$/.test(hex)) cursor.fail('did not find URI escaped octet');
    bytes.push(Number.parseInt(hex, 16));
    cursor.skip(3);
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

export type Directive = { name: 'YAML'; version: string } | { name: 'TAG'; handle: string; prefix: string };

export function scanDirective(cursor: Cursor): Directive {
  cursor.skip();
  const name = cursor.read(word);
  if (name === '') cursor.fail('could not find expected directive name');
  if (!cursor.isBlankOrEnd()) cursor.fail('found unexpected non-alphabetical character');
  let directive: Directive;
  if (name === 'YAML') directive = { name, version: scanVersion(cursor) };
  else if (name === 'TAG') directive = { name, ...scanTagDirective(cursor) };
  else cursor.fail('found unknown directive name');
  cursor.skipBlanks();
  cursor.skipComment();
  if (!cursor.isBreakOrEnd()) cursor.fail('did not find expected comment or line break');
  if (cursor.isBreak()) cursor.readBreak();
  return directive;
}

function scanVersion(cursor: Cursor): string {
  cursor.skipBlanks();
  const major = scanVersionNumber(cursor);
  if (cursor.char() !== '.') cursor.fail("did not find expected digit or '.' character");
  cursor.skip();
  return `${major}.${scanVersionNumber(cursor)}`;
}

function scanVersionNumber(cursor: Cursor): number {
  const digits = cursor.read(/[0-9]*/y);
  if (digits.length > 2) cursor.fail('found extremely long version number');
  if (digits === '') cursor.fail('did not find expected version number');
  return Number(digits);
}

function scanTagDirective(cursor: Cursor): { handle: string; prefix: string } {
  cursor.skipBlanks();
  const handle = scanHandle(cursor, true);
  if (!cursor.isBlank()) cursor.fail('did not find expected whitespace');
  cursor.skipBlanks();
  const prefix = scanUri(cursor, '');
  if (!cursor.isBlankOrEnd()) cursor.fail('did not find expected whitespace or line break');
  return { handle, prefix };
}
