/** Authentication: tokens, their file, anonymous requests and what goes before what. Certificates are tested over a real socket. */
import { describe, expect, test } from 'vitest';
import { bearerToken, RequestAuthenticator, TokenRefused } from './authenticate.js';
import { readTokenFile } from './token-file.js';

const file = `admin-token,admin,1,system:masters
node-token,system:node:node-a,2,"system:nodes,extra ""quoted"""
plain-token,jane,
`;

function authenticator(
  anonymous: boolean,
  extra: ConstructorParameters<typeof RequestAuthenticator>[0]['tokens'] = [],
) {
  return new RequestAuthenticator({
    tokens: [readTokenFile(file, 'tokens.csv').tokens, ...extra],
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
  test('a known token is its user, with the group of all authenticated users', () => {
    expect(authenticator(false).authenticate(asking('Bearer admin-token'))).toEqual({
      name: 'admin',
      uid: '1',
      groups: ['system:masters', 'system:authenticated'],
    });
    expect(authenticator(false).authenticate(asking('bearer node-token'))?.groups).toEqual([
      'system:nodes',
      'extra "quoted"',
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
    ['basic credentials, which are none here', 'Basic YTpi', undefined, 'system:anonymous'],
    ['an unknown token', 'Bearer nope', undefined, undefined],
  ])('%s', (_name, header, whenOff, whenOn) => {
    expect(authenticator(false).authenticate(asking(header))?.name).toBe(whenOff);
    expect(authenticator(true).authenticate(asking(header))?.name).toBe(whenOn);
  });

  test('the anonymous user is unauthenticated, not authenticated', () => {
    expect(authenticator(true).authenticate(asking())?.groups).toEqual(['system:unauthenticated']);
  });

  test('a token that its authenticator refuses is refused with both reasons', () => {
    const refusing = {
      authenticate() {
        throw new TokenRefused('service account token has expired');
      },
    };
    expect(authenticator(true, [refusing]).authenticate(asking('Bearer old'))).toBeUndefined();
    expect(authenticator(true, [refusing]).authenticateToken('old')).toEqual({
      error: '[invalid bearer token, service account token has expired]',
    });
    expect(authenticator(true).authenticateToken('nope')).toEqual({ error: 'invalid bearer token' });
  });
});

describe('the token file', () => {
  test.each([
    ['a,b', "token file 'f.csv' line 1 must have at least 3 columns (token, user name, user uid), found 2"],
    ['a,b,c\n\nd', "token file 'f.csv' line 3 must have at least 3 columns (token, user name, user uid), found 1"],
    ['a,b,c,"g', 'f.csv line 1: a quoted field is not closed with "'],
    ['a,b,c\nd,e"e,f', 'f.csv line 2: a bare " stands in a field without quotes'],
    ['a,b,c,"g"h', 'f.csv line 1: text follows the closing " of a quoted field'],
  ])('%j is refused with its line', (text, message) => {
    expect(() => readTokenFile(text, 'f.csv')).toThrow(message);
  });

  test('empty and repeated tokens are warned about; the last one counts', () => {
    const { tokens, warnings } = readTokenFile('t,first,\r\n,nobody,\r\nt,last,\r\n', 'f.csv');
    expect(warnings).toEqual([
      "token file 'f.csv' line 2: the token is empty, the line is ignored",
      "token file 'f.csv' line 3: the token was there before, the last one counts",
    ]);
    expect(tokens.authenticate('t', [])?.user.name).toBe('last');
    expect(tokens.authenticate('', [])).toBeUndefined();
  });
});

test('a token of the file is for this server, and for no other audience', () => {
  const known = authenticator(false);
  expect(known.authenticateToken('admin-token')).toMatchObject({ audiences: ['here'] });
  expect(known.authenticateToken('admin-token', ['here', 'there'])).toMatchObject({ audiences: ['here'] });
  expect(known.authenticateToken('admin-token', ['there'])).toEqual({ error: 'invalid bearer token' });
});
