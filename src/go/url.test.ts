/** The parts of URLs as url.ParseRequestURI gives them. The error texts of url.Parse are tested with the rules that print them. */
import { expect, test } from 'vitest';
import { goUrlError, parseRequestUri } from './url.js';

test.each([
  [
    'HTTPS://user:pw@Example.com:8080/a%20b?x=1?y',
    { scheme: 'https', host: 'Example.com:8080', path: '/a%20b', query: 'x=1?y' },
  ],
  ['https://[::1]:80', { scheme: 'https', host: '[::1]:80', path: '', query: '' }],
  ['/path#part', { scheme: '', host: '', path: '/path#part', query: '' }],
  ['//not-a-host/x', { scheme: '', host: '', path: '//not-a-host/x', query: '' }],
  ['mailto:somebody', { scheme: 'mailto', host: '', path: '', query: '' }],
])('%s is read', (text, parts) => {
  expect(parseRequestUri(text)).toEqual(parts);
});

test.each([
  '',
  '../relative',
  'example.com',
  ':x',
  'http://a b/',
  'http://h/%zz',
  'http://[::1/',
  'http://h:port/',
  'a\nb',
])('%j is not a request URI', (text) => {
  expect(parseRequestUri(text)).toBeUndefined();
});

test('user information before an IPv6 host is checked', () => {
  expect(goUrlError('http://a b@[::1]/')).toBe('parse "http://a b@[::1]/": net/url: invalid userinfo');
});
