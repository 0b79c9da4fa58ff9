/** The name of the Node that an agent belongs to. */
import { expect, test } from 'vitest';
import { nodeNameFrom } from './connect.js';

test.each([
  ['the client certificate has the node name', 'O=system:nodes\nCN=system:node:real', 'override', 'HOST', 'real'],
  ['without such a certificate the node name is --hostname-override', 'CN=someone', ' Override ', 'HOST', 'override'],
  ['without both the node name is the lower-cased host name', undefined, undefined, 'HOST.Example', 'host.example'],
])('%s', (_name, subject, override, host, expected) => expect(nodeNameFrom(subject, override, host)).toBe(expected));
