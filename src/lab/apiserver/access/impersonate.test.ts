/** Impersonation: which permissions it needs, and the resulting user. */
import { describe, expect, test } from 'vitest';
import type { Attributes, User } from '../../../memory-api/attributes.js';
import { impersonation } from './impersonate.js';

const root: User = { name: 'root', groups: ['system:masters'] };
const eve: User = { name: 'eve', groups: ['system:authenticated'] };

const asked: string[] = [];
const answers: string[] = [];
const impersonate = impersonation({
  authorize(request: Attributes) {
    const { resource, subresource, namespace, name } = request;
    asked.push(
      [request.verb, request.apiGroup, subresource ? `${resource}/${subresource}` : resource, namespace, name].join(
        ' ',
      ),
    );
    return { allowed: request.user.name === 'root', reason: request.user.name === 'root' ? '' : 'because' };
  },
});

function as(user: User, headers: Record<string, string | string[]>): User {
  asked.length = 0;
  return impersonate(user, {
    header: (name: string) => [headers[name] ?? []].flat().join(', ') || undefined,
    headerValues: (name: string) => [headers[name] ?? []].flat(),
    headers: () => headers,
    path: '/api/v1/nodes',
    search: 'limit=1',
    respond: (code: number, _headers: object, text: string) => answers.push(`${code} ${text}`),
  } as unknown as Parameters<typeof impersonate>[1]) as User;
}

describe('impersonation', () => {
  test('without impersonation headers the user stays the same', () => {
    expect(as(eve, {})).toBe(eve);
    expect(asked).toEqual([]);
  });

  test.each<[Record<string, string | string[]>, User, string[]]>([
    [
      { 'impersonate-user': 'carol' },
      { name: 'carol', groups: ['system:authenticated'] },
      ['impersonate  users  carol'],
    ],
    [
      { 'impersonate-user': 'carol', 'impersonate-group': ['a', 'b'] },
      { name: 'carol', groups: ['a', 'b', 'system:authenticated'] },
      ['impersonate  users  carol', 'impersonate  groups  a', 'impersonate  groups  b'],
    ],
    [
      { 'impersonate-user': 'carol', 'impersonate-group': ['system:unauthenticated'] },
      { name: 'carol', groups: ['system:unauthenticated'] },
      ['impersonate  users  carol', 'impersonate  groups  system:unauthenticated'],
    ],
    [
      { 'impersonate-user': 'system:anonymous' },
      { name: 'system:anonymous', groups: ['system:unauthenticated'] },
      ['impersonate  users  system:anonymous'],
    ],
    [
      { 'impersonate-user': 'system:serviceaccount:ns:bot' },
      {
        name: 'system:serviceaccount:ns:bot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      },
      ['impersonate  serviceaccounts ns bot'],
    ],
    [
      { 'impersonate-user': 'u', 'impersonate-uid': '7', 'impersonate-extra-acme.com%2fscope': ['x', 'y'] },
      { name: 'u', uid: '7', groups: ['system:authenticated'], extra: { 'acme.com/scope': ['x', 'y'] } },
      [
        'impersonate  users  u',
        'impersonate authentication.k8s.io userextras/acme.com/scope  x',
        'impersonate authentication.k8s.io userextras/acme.com/scope  y',
        'impersonate authentication.k8s.io uids  7',
      ],
    ],
  ])('%o', (headers, user, questions) => {
    expect(as(root, headers)).toEqual(user);
    expect(asked).toEqual(questions);
  });

  test('impersonation without permission is rejected with the reason', () => {
    expect(() => as(eve, { 'impersonate-user': 'carol' })).toThrow(
      'users "carol" is forbidden: User "eve" cannot impersonate resource "users" in API group "" at the cluster scope: because',
    );
  });

  test('impersonating a group without a user is rejected', () => {
    expect(() => as(root, { 'impersonate-group': ['a'] })).toThrow('cannot be impersonated without a user');
  });
});
