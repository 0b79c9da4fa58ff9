/**
 * Authentication: tokens, the token file, anonymous requests and their precedence. Certificates are tested over a real
 * socket.
 */
import { describe, expect, test } from 'vitest';
import { bearerToken, RequestAuthenticator, TokenRejected } from './authenticate.js';
import { readTokenFile } from './token-file.js';

const file = `admin-token,admin,1,system:masters
node-token,system:node:node-a,2,"system:nodes,extra"
plain-token,jane,
`;

function authenticator(
  anonymous: boolean,
  extra: ConstructorParameters<typeof RequestAuthenticator>[0]['tokens'] = [],
) {
  return new RequestAuthenticator({
    tokens: [readTokenFile(file, 'tokens.csv'), ...extra],
    anonymous,
    issuer: 'here',
    clock: { now: () => 0 },
  });
}

const asking = (authorization?: string) => ({
  header: (name: string) => (name === 'authorization' ? authorization : undefined),
  clientCertificate: () => undefined,
});

describe('bearer tokens', () => {
  test('a known token authenticates as its user, in the group of all authenticated users', () => {
    expect(authenticator(false).authenticate(asking('Bearer admin-token'))).toEqual({
      name: 'admin',
      uid: '1',
      groups: ['system:masters', 'system:authenticated'],
    });
    expect(authenticator(false).authenticate(asking('bearer node-token'))?.groups).toEqual([
      'system:nodes',
      'extra',
      'system:authenticated',
    ]);
    expect(authenticator(false).authenticate(asking('Bearer plain-token'))).toEqual({
      name: 'jane',
      groups: ['system:authenticated'],
    });
  });

  test.each([
    ['Bearer x', 'x'],
    ['bEaReR x y', 'x'],
    ['  Bearer x  ', 'x'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer  x', undefined],
    ['Basic YTpi', undefined],
    [undefined, undefined],
  ])('the header %j carries the token %j', (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });

  test.each([
    ['no credentials', undefined, undefined, 'system:anonymous'],
    ['basic credentials, which are ignored', 'Basic YTpi', undefined, 'system:anonymous'],
    ['an unknown token', 'Bearer nope', undefined, undefined],
  ])('%s', (_name, header, whenOff, whenOn) => {
    expect(authenticator(false).authenticate(asking(header))?.name).toBe(whenOff);
    expect(authenticator(true).authenticate(asking(header))?.name).toBe(whenOn);
  });

  test('the anonymous user is in system:unauthenticated, not in system:authenticated', () => {
    expect(authenticator(true).authenticate(asking())?.groups).toEqual(['system:unauthenticated']);
  });

  test('a token that its authenticator rejects is rejected with both reasons', () => {
    const rejecting = {
      authenticate() {
        throw new TokenRejected('service account token has expired');
      },
    };
    expect(authenticator(true, [rejecting]).authenticate(asking('Bearer old'))).toBeUndefined();
    expect(authenticator(true, [rejecting]).authenticateToken('old')).toEqual({
      error: '[invalid bearer token, service account token has expired]',
    });
    expect(authenticator(true).authenticateToken('nope')).toEqual({ error: 'invalid bearer token' });
  });
});

describe('the token file', () => {
  test.each([
    ['a,b', 1],
    ['a,b,c\n\nd', 3],
    ['a,b,c,"g', 1],
    ['a,b,c\nd,e"e,f', 2],
    ['a,b,c,"g"h', 1],
    [',nobody,', 1],
  ])('the token file %j is rejected with its line', (text, line) => {
    expect(() => readTokenFile(text, 'f.csv')).toThrow(`token file 'f.csv' line ${line} must be token,user,uid`);
  });

  test('of repeated tokens the last is used', () => {
    const tokens = readTokenFile('t,first,\r\nt,last,,"a,b"\r\n', 'f.csv');
    expect(tokens.authenticate('t', [])?.user).toEqual({ name: 'last', groups: ['a', 'b'] });
  });
});

test('a token of the file is valid for the audience of this server only', () => {
  const known = authenticator(false);
  expect(known.authenticateToken('admin-token')).toMatchObject({ audiences: ['here'] });
  expect(known.authenticateToken('admin-token', ['here', 'there'])).toMatchObject({ audiences: ['here'] });
  expect(known.authenticateToken('admin-token', ['there'])).toEqual({ error: 'invalid bearer token' });
});
