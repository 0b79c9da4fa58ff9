/** Joined paths, compared with what Go answers. */
import { expect, test } from 'vitest';
import { directoryOf, joinPath } from './path.js';

test.each([
  ['/etc/kubernetes', 'pki/ca.crt', '/etc/kubernetes/pki/ca.crt'],
  ['/etc/kubernetes', '../pki/./ca.crt', '/etc/pki/ca.crt'],
  ['/etc', '../../../x', '/x'],
  ['conf', '../../x//y/', '../x/y'],
  ['.', '', '.'],
  ['/', '', '/'],
])('%s joined with %s is %s', (directory, name, joined) => {
  expect(joinPath(directory, name)).toBe(joined);
});

test('the directory of a file is what comes before its last slash', () => {
  expect(
    ['/etc/kubernetes/kubelet.yaml', '/kubelet.yaml', 'conf/kubelet.yaml', 'kubelet.yaml'].map(directoryOf),
  ).toEqual(['/etc/kubernetes', '/', 'conf', '.']);
});
