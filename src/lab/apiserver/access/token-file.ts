/**
 * Static bearer tokens from kube-apiserver's --token-auth-file: CSV lines `token,user,uid[,"group1,group2"]`.
 * Tokens are looked up by their digest, so that the time of a lookup reveals nothing about a token.
 */
import { createHash } from 'node:crypto';
import type { User } from '../attributes.js';
import type { TokenAuthenticator } from './authenticate.js';
import { parseCsv } from './csv.js';

export interface TokenFile {
  tokens: TokenAuthenticator;
  /** Problems that are not errors: an empty or a repeated token. */
  warnings: string[];
}

/** Throws with file and line on malformed text; a malformed file is not used at all. */
export function readTokenFile(text: string, path: string): TokenFile {
  const users = new Map<string, User>();
  const warnings: string[] = [];
  for (const { line, fields } of parseCsv(text, path)) {
    const [token, name, uid, groups] = fields;
    if (token === undefined || name === undefined || uid === undefined)
      throw new Error(
        `token file '${path}' line ${line} must have at least 3 columns (token, user name, user uid), found ${fields.length}`,
      );
    if (token === '') {
      warnings.push(`token file '${path}' line ${line}: the token is empty, the line is ignored`);
      continue;
    }
    const key = digest(token);
    if (users.has(key))
      warnings.push(`token file '${path}' line ${line}: the token was used before, the last line is used`);
    users.set(key, { name, ...(uid === '' ? {} : { uid }), groups: groups === undefined ? [] : groups.split(',') });
  }
  return {
    warnings,
    tokens: {
      authenticate(token) {
        const user = users.get(digest(token));
        return user && { user };
      },
    },
  };
}

const digest = (token: string) => createHash('sha256').update(token).digest('base64');
