/** The continue token of a list: its revision and its last key, in Kubernetes' encoding. */

import { JsonSyntaxError, parseGoJson } from '../../go/json.js';
import { goQuote } from '../../go/quote.js';
import { badRequest } from '../status-error.js';

export interface ContinueToken {
  /** -1: continue with the current state. */
  revision: number;
  namespace: string;
  name: string;
}

const version = 'meta.k8s.io/v1';

/** `namespace` is '' when the list is inside one namespace or of a cluster-scoped kind: the key is then the name alone. */
export function encodeContinue({ revision, namespace, name }: ContinueToken): string {
  const start = `${namespace === '' ? name : `${namespace}/${name}`}\0`;
  return Buffer.from(JSON.stringify({ v: version, rv: revision, start })).toString('base64url');
}

export function decodeContinue(token: string): ContinueToken {
  const { v, rv, start } = fieldsOf(token);
  if (v !== version) throw rejection(`server does not recognize this encoded version ${goQuote(String(v ?? ''))}`);
  if (typeof rv !== 'number' || !Number.isInteger(rv) || rv === 0) {
    throw rejection(`incorrect encoded start resourceVersion (version ${version})`);
  }
  if (typeof start !== 'string' || start === '') throw rejection(`encoded start key empty (version ${version})`);
  const key = start.replace(/\0$/, '');
  const slash = key.indexOf('/');
  return { revision: rv, namespace: slash === -1 ? '' : key.slice(0, slash), name: key.slice(slash + 1) };
}

function fieldsOf(token: string): { v?: unknown; rv?: unknown; start?: unknown } {
  if (!/^[A-Za-z0-9_-]*$/.test(token)) {
    throw rejection(`illegal base64 data at input byte ${token.search(/[^A-Za-z0-9_-]/)}`);
  }
  // Four characters are three bytes; a single one is invalid.
  if (token.length % 4 === 1) throw rejection(`illegal base64 data at input byte ${token.length - 1}`);
  try {
    // Go counts bytes: with latin1 they are characters.
    const { value } = parseGoJson(Buffer.from(token, 'base64url').toString('latin1'));
    if (typeof value === 'object' && value !== null) return value;
    throw rejection('json: cannot unmarshal into Go value of type storage.continueToken');
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw rejection(error.message);
    throw error;
  }
}

function rejection(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
