/** Names: what is accepted, and the exact words of a refusal. */
import { describe, expect, test } from 'vitest';
import {
  checkConfigMapKey,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  nameIsDnsSubdomain,
} from './names.js';

describe('names', () => {
  test('accepts what Kubernetes accepts', () => {
    expect(checkDnsLabel('my-name')).toEqual([]);
    expect(checkDnsSubdomain('a.b-c.d')).toEqual([]);
    expect(checkQualifiedName('example.com/My_Name')).toEqual([]);
    expect(checkLabelValue('')).toEqual([]);
    expect(checkConfigMapKey('kubelet.yaml')).toEqual([]);
    expect(checkPathSegment('system:node')).toEqual([]);
    expect(nameIsDnsSubdomain('gen-', true)).toEqual([]);
  });

  test('says a dotted label must not contain dots', () => {
    expect(checkDnsLabel('a.b')).toEqual(['must not contain dots']);
  });

  test.each([
    [
      checkDnsSubdomain,
      'a-',
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      checkDnsLabel,
      'A',
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ],
    [checkConfigMapKey, '..', "must not be '..'"],
    [checkConfigMapKey, '..a', "must not start with '..'"],
    [checkPathSegment, 'a%b', "may not contain '%'"],
    [checkDnsLabel, 'a'.repeat(64), 'must be no more than 63 characters'],
  ])('refuses in the words of Kubernetes', (rule, value, message) => {
    expect(rule(value)).toEqual([message]);
  });

  test('a label key with two slashes is answered with the whole form', () => {
    expect(checkQualifiedName('a/b/c')[0]).toMatch(
      /^a qualified name .* with an optional DNS subdomain prefix and '\/'/,
    );
    expect(checkQualifiedName('/b')).toEqual(['prefix part must be non-empty']);
  });
});
