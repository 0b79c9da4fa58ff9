/**
 * Static bearer tokens from kube-apiserver's --token-auth-file: CSV lines `token,user,uid[,"group1,group2"]`.
 * Tokens are looked up by their digest, so that the time of a lookup reveals nothing about a token.
 */
import { createHash } from 'node:crypto';
import type { User } from '../../../memory-api/attributes.js';
import type { TokenAuthenticator } from './authenticate.js';

/** Throws with file and line on malformed text; a malformed file is not used at all. */
export function readTokenFile(text: string, path: string): TokenAuthenticator {
  const users = new Map<string, User>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const [, token, name, uid, groups = ''] = record.exec(line) ?? [];
    if (token === undefined || name === undefined || uid === undefined)
      throw new Error(
        `token file '${path}' line ${index + 1} must be token,user,uid or token,user,uid,"group1,group2"`,
      );
    const names = groups.replaceAll('"', '').split(',');
    users.set(digest(token), {
      name,
      ...(uid === '' ? {} : { uid }),
      groups: names.filter((group) => group !== ''),
    });
  }
  return {
    authenticate(token) {
      const user = users.get(digest(token));
      return user && { user };
    },
  };
}

/** Only the list of groups may be quoted. */
const record = /^([^",]+),([^",]*),([^",]*)(?:,("[^"]*"|[^",]*))?$/;

const digest = (token: string) => createHash('sha256').update(token).digest('base64');
