/**
 * Impersonation: each user, group, uid and extra value in Impersonate-* headers must be allowed by the verb
 * `impersonate`.
 */

import type { Attributes, Authorizer, User } from '../../../memory-api/attributes.js';
import type { Exchange } from '../../../memory-api/requests/exchange.js';
import { forbidden, plainInternal } from '../../../memory-api/status-error.js';
import type { Impersonate } from '../handler.js';
import {
  anonymousUser,
  authenticatedGroup,
  serviceAccountGroups,
  splitServiceAccountUserName,
  unauthenticatedGroup,
} from '../well-known.js';
import { forbiddenMessage } from './authorizer.js';

type Headers = Pick<Exchange, 'header' | 'headerValues' | 'headers'>;

const extraPrefix = 'impersonate-extra-';

interface ImpersonatedSubject {
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
      if (groups.length > 0 || uid !== '' || Object.keys(extra).length > 0)
        throw plainInternal('groups, uid and extra values cannot be impersonated without a user');
      return user;
    }
    for (const target of targets(name, groups, uid, extra)) checkMay(authorizer, user, target);
    return {
      name,
      ...(uid === '' ? {} : { uid }),
      groups: completeGroups(name, groups),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
  };
}

function targets(name: string, groups: string[], uid: string, extra: Record<string, string[]>): ImpersonatedSubject[] {
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

function checkMay(authorizer: Authorizer, user: User, target: ImpersonatedSubject): void {
  const { apiGroup = '', resource, subresource = '', namespace = '', name } = target;
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
