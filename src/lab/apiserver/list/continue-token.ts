/** The token with which a list goes on: the revision it shows and the last key seen, in Kubernetes' own encoding. */

import { JsonSyntaxError, parseGoJson } from '../../../go/json.js';
import { goQuote } from '../../../go/quote.js';
import { badRequest } from '../status-error.js';

export interface ContinueToken {
  /** -1: go on with whatever is there now. */
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
  if (v !== version) throw refuse(`server does not recognize this encoded version ${goQuote(String(v ?? ''))}`);
  if (typeof rv !== 'number' || !Number.isInteger(rv) || rv === 0) {
    throw refuse(`incorrect encoded start resourceVersion (version ${version})`);
  }
  if (typeof start !== 'string' || start === '') throw refuse(`encoded start key empty (version ${version})`);
  const key = start.replace(/\0$/, '');
  const slash = key.indexOf('/');
  return { revision: rv, namespace: slash === -1 ? '' : key.slice(0, slash), name: key.slice(slash + 1) };
}

function fieldsOf(token: string): { v?: unknown; rv?: unknown; start?: unknown } {
  if (!/^[A-Za-z0-9_-]*$/.test(token)) {
    throw refuse(`illegal base64 data at input byte ${token.search(/[^A-Za-z0-9_-]/)}`);
  }
  // Four characters make three bytes; one alone makes none.
  if (token.length % 4 === 1) throw refuse(`illegal base64 data at input byte ${token.length - 1}`);
  try {
    // Go looks at bytes where we look at characters: latin1 makes them the same.
    const { value } = parseGoJson(Buffer.from(token, 'base64url').toString('latin1'));
    if (typeof value === 'object' && value !== null) return value;
    throw refuse('json: cannot unmarshal into Go value of type storage.continueToken');
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw refuse(error.message);
    throw error;
  }
}

function refuse(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
