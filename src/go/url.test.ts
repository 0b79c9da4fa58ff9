/** Addresses that Go's url.Parse reads, and its errors about others. The rules that print them test them too. */
import { expect, test } from 'vitest';
import { goUrlError } from './url.js';

test.each([
  '',
  'HTTPS://user:pw@Example.com:8080/a%20b?x=1?y',
  'https://[::1]:80',
  '/path#part',
  '///x',
  'mailto:somebody',
  '../relative',
])('%j is read', (text) => {
  expect(goUrlError(text)).toBeUndefined();
});

test.each([
  [':x', 'missing protocol scheme'],
  ['a b:c', 'first path segment in URL cannot contain colon'],
  ['http://a b/', 'invalid character " " in host name'],
  ['http://h/%zz', 'invalid URL escape "%zz"'],
  ['http://[::1/', "missing ']' in host"],
  ['http://h:port/', 'invalid port ":port" after host'],
  ['a\nb', 'net/url: invalid control character in URL'],
  ['http://a b@[::1]/', 'net/url: invalid userinfo'],
])('%j is rejected', (text, why) => {
  expect(goUrlError(text)).toBe(`parse ${JSON.stringify(text)}: ${why}`);
});
