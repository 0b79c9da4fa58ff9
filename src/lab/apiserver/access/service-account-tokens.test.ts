/** Service-account tokens: their claims, and what invalidates them. */

import { beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { systemRandom } from '../../../random.js';
import { RequestAuthenticator } from './authenticate.js';
import { newSigningKey, TokenSigner } from './json-web-token.js';
import { ServiceAccountTokens } from './service-account-tokens.js';
import { accountFor, answerRequest, completeRequest } from './token-request.js';

const issuer = 'https://kubernetes.default.svc.cluster.local';
const signer = new TokenSigner(newSigningKey());
const now = Date.UTC(2026, 0, 1);
let stored: Record<string, KubeObject>;
const objects = {
  find: ({ resource, namespace, name }: { resource: string; namespace: string; name: string }) =>
    stored[`${resource}/${namespace}/${name}`],
};
const clock = { now: () => now };
const tokens = new ServiceAccountTokens({ signer, issuer, objects, clock, random: systemRandom });
const authenticator = new RequestAuthenticator({ tokens: [tokens], anonymous: true, issuer: 'here', clock });

function make(name: string, uid: string, spec = {}): KubeObject {
  return { apiVersion: 'v1', kind: '', metadata: { name, namespace: 'ns', uid }, spec };
}

beforeEach(() => {
  clock.now = () => now;
  stored = {
    'serviceaccounts/ns/bot': make('bot', 'sa-uid'),
    'pods/ns/p': make('p', 'pod-uid', { serviceAccountName: 'bot', nodeName: 'n' }),
    'nodes//n': make('n', 'node-uid'),
  };
});

function request(spec: Record<string, unknown> = {}, metadata = {}): KubeObject {
  const sent = { apiVersion: 'v1', kind: 'TokenRequest', metadata: { name: '', ...metadata }, spec } as KubeObject;
  const account = accountFor(sent, 'ns', 'bot', objects);
  return answerRequest(completeRequest(sent, account, issuer, now), account, { tokens, objects, nowMs: now });
}

const tokenOf = (object: KubeObject) => (object.status as { token: string }).token;
const check = (token: string, audiences: string[] = []) => authenticator.authenticateToken(token, audiences);
const to = (kind: string, name: string, uid = '') => ({ boundObjectRef: { apiVersion: 'v1', kind, name, uid } });

describe('a token request', () => {
  test('a token request is answered with a token for an hour, for the audience of the server', () => {
    const answer = request();
    expect(answer).toMatchObject({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'bot', namespace: 'ns', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { audiences: [issuer], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: '2026-01-01T01:00:00Z' },
    });
    expect(TokenSigner.peek(tokenOf(answer))).toMatchObject({
      iss: issuer,
      sub: 'system:serviceaccount:ns:bot',
      aud: [issuer],
      exp: now / 1000 + 3600,
      'kubernetes.io': { namespace: 'ns', serviceaccount: { name: 'bot', uid: 'sa-uid' } },
    });
  });

  test('a token bound to a pod names its node too', () => {
    const claims = TokenSigner.peek(tokenOf(request({ ...to('Pod', 'p', 'pod-uid'), expirationSeconds: 3607 })));
    expect(claims).toMatchObject({
      exp: now / 1000 + 3607,
      'kubernetes.io': { pod: { name: 'p', uid: 'pod-uid' }, node: { name: 'n', uid: 'node-uid' } },
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['too short', { expirationSeconds: 599 }, 'may not specify a duration less than 10 minutes'],
    ['too long', { expirationSeconds: 2 ** 32 + 1 }, 'may not specify a duration larger than 2^32 seconds'],
    ['a token request for a missing pod', to('Pod', 'gone'), 'pods "gone" not found'],
    ['a token request for another pod of that name', to('Pod', 'p', 'x'), 'does not match the UID in record'],
    ['a token request for an unknown kind', to('ConfigMap', 'c'), 'cannot bind token to object of type v1 ConfigMap'],
  ])('%s is rejected', (_name, spec, message) => {
    expect(() => request(spec)).toThrow(message);
  });

  test('a token request for a pod of another account, or with another name, is rejected', () => {
    stored['pods/ns/q'] = make('q', 'u', { serviceAccountName: 'other' });
    expect(() => request(to('Pod', 'q'))).toThrow(
      'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
    );
    expect(() => request({}, { name: 'other' })).toThrow('must match the service account name if specified');
    delete stored['serviceaccounts/ns/bot'];
    expect(() => request()).toThrow('serviceaccounts "bot" not found');
  });
});

describe('a token', () => {
  test('a token authenticates as its account, in the groups of accounts', () => {
    expect(check(tokenOf(request(to('Pod', 'p'))))).toEqual({
      audiences: [issuer],
      user: {
        name: 'system:serviceaccount:ns:bot',
        uid: 'sa-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
        extra: {
          'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)],
          'authentication.kubernetes.io/node-name': ['n'],
          'authentication.kubernetes.io/node-uid': ['node-uid'],
          'authentication.kubernetes.io/pod-name': ['p'],
          'authentication.kubernetes.io/pod-uid': ['pod-uid'],
        },
      },
    });
  });

  test.each<[string, Record<string, unknown>, () => void, string]>([
    ['with time', {}, () => Object.assign(clock, { now: () => now + 3_661_000 }), 'service account token has expired'],
    ['with its account', {}, () => delete stored['serviceaccounts/ns/bot'], 'serviceaccounts "bot" not found'],
    [
      'when its account is replaced',
      {},
      () => (stored['serviceaccounts/ns/bot'] = make('bot', 'new')),
      'service account UID (new) does not match claim (sa-uid)',
    ],
    ['with its pod', to('Pod', 'p'), () => delete stored['pods/ns/p'], 'service account token has been invalidated'],
    [
      'when its pod is replaced',
      to('Pod', 'p'),
      () => (stored['pods/ns/p'] = make('p', 'new')),
      'pod UID (new) does not match service account pod ref claim (pod-uid)',
    ],
    ['with its node', to('Node', 'n'), () => delete stored['nodes//n'], 'service account token has been invalidated'],
  ])('a token becomes invalid %s', (_name, spec, happens, message) => {
    const token = tokenOf(request(spec));
    expect(check(token)).toHaveProperty('user');
    happens();
    expect(check(token)).toEqual({ error: `[invalid bearer token, ${message}]` });
  });

  test('a token is valid for its audiences only', () => {
    const token = tokenOf(request({ audiences: ['vault'] }));
    expect(check(token)).toHaveProperty('error');
    expect(check(token, ['vault', 'x'])).toMatchObject({ audiences: ['vault'] });
  });

  test('a token with another signature or changed claims is rejected', () => {
    const token = tokenOf(request());
    const [head, body, signature] = token.split('.') as [string, string, string];
    const claims = { ...TokenSigner.peek(token), sub: 'system:serviceaccount:kube-system:root' };
    const forged = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const other = new TokenSigner(newSigningKey()).sign(claims);
    for (const bad of [`${head}.${forged}.${signature}`, `${none}.${body}.`, `${head}.${body}.`, other])
      expect(check(bad)).toEqual({ error: '[invalid bearer token, failed to verify signature]' });
    for (const noise of ['', 'a.b', 'a.b.c', `${head}.${body}.${signature}.x`, '..'])
      expect(check(noise)).toHaveProperty('error');
  });
});
