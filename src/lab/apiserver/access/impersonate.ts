/**
 * Impersonation: each user, group, uid and extra value in Impersonate-* headers must be allowed by the verb
 * `impersonate`.
 */

import type { ApiError } from '../../../api/status.js';
import { goQuote } from '../../../go/quote.js';
import type { Attributes, Authorizer, User } from '../attributes.js';
import type { Impersonate } from '../handler.js';
import type { Exchange } from '../http/exchange.js';
import { forbidden, plainInternal } from '../status-error.js';
import {
  anonymousUser,
  authenticatedGroup,
  serviceAccountGroups,
  splitServiceAccountUserName,
  unauthenticatedGroup,
} from '../well-known.js';
import { escapeHtml, forbiddenMessage } from './authorizer.js';

type Headers = Pick<Exchange, 'header' | 'headerValues' | 'headers' | 'path' | 'search' | 'respond'>;

const extraPrefix = 'impersonate-extra-';

interface Wish {
  apiGroup?: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name: string;
}

export function impersonation(authorizer: Authorizer): Impersonate {
  return (user: User, exchange: Headers): User => {
    const name = exchange.header('impersonate-user') ?? '';
    const groups = exchange.headerValues('impersonate-group').filter((group) => group !== '');
    const uid = exchange.header('impersonate-uid') ?? '';
    const extra = extraOf(exchange);
    if (name === '') {
      const orphans = wishes('', groups, uid, extra).slice(1);
      if (orphans.length > 0) throw withoutUser(exchange, orphans);
      return user;
    }
    for (const wish of wishes(name, groups, uid, extra)) checkMay(authorizer, user, wish);
    return {
      name,
      ...(uid === '' ? {} : { uid }),
      groups: completeGroups(name, groups),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
  };
}

function wishes(name: string, groups: string[], uid: string, extra: Record<string, string[]>): Wish[] {
  const account = splitServiceAccountUserName(name);
  const authentication = 'authentication.k8s.io';
  return [
    account ? { resource: 'serviceaccounts', ...account } : { resource: 'users', name },
    ...groups.map((group) => ({ resource: 'groups', name: group })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ apiGroup: authentication, resource: 'userextras', subresource: key, name: value })),
    ),
    ...(uid === '' ? [] : [{ apiGroup: authentication, resource: 'uids', name: uid }]),
  ];
}

function checkMay(authorizer: Authorizer, user: User, wish: Wish): void {
  const { apiGroup = '', resource, subresource = '', namespace = '', name } = wish;
  const request: Attributes = {
    ...{ user, verb: 'impersonate', isResource: true, path: '', apiGroup, apiVersion: 'v1' },
    ...{ resource, subresource, namespace, name },
  };
  const { allowed, reason } = authorizer.authorize(request);
  if (!allowed) throw forbidden({ group: apiGroup, resource }, name, forbiddenMessage(request, reason));
}

/** Given groups are used as they are; a service account without any gets its own. */
function completeGroups(name: string, named: string[]): string[] {
  const account = splitServiceAccountUserName(name);
  const groups = named.length === 0 && account ? serviceAccountGroups(account.namespace) : named;
  const isAnonymous = name === anonymousUser.name;
  const marked = groups.includes(unauthenticatedGroup) || (!isAnonymous && groups.includes(authenticatedGroup));
  return marked ? groups : [...groups, isAnonymous ? unauthenticatedGroup : authenticatedGroup];
}

function extraOf(exchange: Headers): Record<string, string[]> {
  const extra: Record<string, string[]> = Object.create(null);
  for (const header of Object.keys(exchange.headers()))
    if (header.startsWith(extraPrefix)) extra[decode(header.slice(extraPrefix.length))] = exchange.headerValues(header);
  return { ...extra };
}

function decode(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/**
 * Kubernetes answers this one in plain text, with its own structs inside; the error is thrown after the answer was
 * sent.
 */
function withoutUser(exchange: Headers, orphans: Wish[]): ApiError {
  const kinds: Record<string, string> = { groups: 'Group', userextras: 'UserExtra', uids: 'UID' };
  const shown = orphans.map(({ apiGroup, resource, subresource = '', name }) => {
    const version = apiGroup === undefined ? '' : `${apiGroup}/v1`;
    return `{${kinds[resource]}  ${name}  ${version}  ${subresource}}`;
  });
  const uri = goQuote(exchange.search === '' ? exchange.path : `${exchange.path}?${exchange.search}`);
  const why = `requested [${shown.join(' ')}] without impersonating a user`;
  const text = escapeHtml(`Internal Server Error: ${uri}: ${why}`);
  exchange.respond(
    500,
    { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    `${text}\n`,
  );
  return plainInternal(text);
}
