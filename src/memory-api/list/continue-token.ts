/** The continue token of a list: its revision and its last key, in Kubernetes' encoding. */

import { quote } from '../../go/quote.js';
import { isObject } from '../../json.js';
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
  if (v !== version) throw rejection(`server does not recognize this encoded version ${quote(String(v ?? ''))}`);
  if (typeof rv !== 'number' || !Number.isInteger(rv) || rv === 0) {
    throw rejection(`incorrect encoded start resourceVersion (version ${version})`);
  }
  if (typeof start !== 'string' || start === '') throw rejection(`encoded start key empty (version ${version})`);
  const key = start.replace(/\0$/, '');
  const slash = key.indexOf('/');
  return { revision: rv, namespace: slash === -1 ? '' : key.slice(0, slash), name: key.slice(slash + 1) };
}

function fieldsOf(token: string): { v?: unknown; rv?: unknown; start?: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (isObject(value)) return value;
  } catch {
    // Not a token of ours, as any other text.
  }
  throw rejection('it was not issued by this server');
}

function rejection(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
