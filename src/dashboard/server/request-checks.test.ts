/** Proxies whose header is believed: addresses and networks, in both families. */
import { expect, test } from 'vitest';
import { isProxy, proxiesOf } from './request-checks.js';

test.each([
  ['an address', ['10.0.0.1'], '10.0.0.1', true],
  ['another address', ['10.0.0.1'], '10.0.0.2', false],
  ['an address of a network', ['192.0.2.1', '10.0.0.0/8'], '10.255.0.9', true],
  ['an IPv4 peer of a socket for both kinds', ['10.0.0.0/8'], '::ffff:10.1.2.3', true],
  ['an IPv6 network', ['fd00::/8'], 'fd12::1', true],
  ['an IPv4 peer where only IPv6 is trusted', ['fd00::/8'], '10.1.2.3', false],
  ['a peer that has gone', ['0.0.0.0/0'], undefined, false],
])('the header of %s', (_name, list, peer, isTrusted) => {
  expect(isProxy(proxiesOf(list)!, peer)).toBe(isTrusted);
});

test.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '/8', '10.0.0.0/-1', ''])(
  '%j is not an address or a network',
  (text) => {
    expect(proxiesOf([text])).toBeUndefined();
  },
);
