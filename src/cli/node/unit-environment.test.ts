/** Variables of a unit, as systemd 252 filled them in: each case was compared with a program that prints its words. */
import { describe, expect, test } from 'vitest';
import { assignments, expandWords, parseEnvironmentFile } from './unit-environment.js';

const braced = (name: string) => `$\{${name}}`;

describe('variables in the command line of a unit', () => {
  const variables = new Map([
    ['ARGS', '--v=2  --node-labels=a=b,c=d "--x=one two"'],
    ['IP', '10.0.0.1'],
    ['EMPTY', ''],
  ]);

  test.each([
    ['a variable alone becomes its words', '$ARGS', ['--v=2', '--node-labels=a=b,c=d', '--x=one two']],
    ['an empty one becomes none', '$EMPTY', []],
    ['an unset one becomes none', '$NOPE', []],
    ['in braces it stays one word', braced('ARGS'), ['--v=2  --node-labels=a=b,c=d "--x=one two"']],
    ['in braces it may be part of a word', `--node-ip=${braced('IP')}:${braced('EMPTY')}`, ['--node-ip=10.0.0.1:']],
    ['without braces it may not', '--node-ip=$IP', ['--node-ip=$IP']],
    ['two dollars are one', '$$HOME', ['$HOME']],
  ])('%s', (_name, word, expected) => {
    expect(expandWords(['/usr/bin/kubelet', word], variables)).toEqual(['/usr/bin/kubelet', ...expected]);
  });

  test('the program is not a variable', () => {
    expect(expandWords(['$IP'], variables)).toEqual(['$IP']);
  });

  test('an assignment without a name is left out', () => {
    expect(assignments(['A=1', 'B=a=b', '=x', 'plain'])).toEqual([
      ['A', '1'],
      ['B', 'a=b'],
    ]);
  });
});

describe('an environment file', () => {
  test.each([
    [
      'as kubeadm writes it',
      'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=p:3.9 --v=2"\n',
      ['--pod-infra-container-image=p:3.9 --v=2'],
    ],
    ['without quotes, to the end of the line', 'A=--v=2 --x \nB=1', ['--v=2 --x', '1']],
    ['single quotes keep everything', 'A=\'a "b" \\n\'', ['a "b" \\n']],
    ['double quotes with escapes', 'A="a \\"b\\" \\x"', ['a "b" \\x']],
    ['quotes in the middle are quotes', 'A=x"y z"w', ['x"y z"w']],
    ['quoted parts are joined', 'A="x" \'y z\'w', ['xy zw']],
    ['an escaped blank', 'A=a\\ b', ['a b']],
    ['blanks around the name', ' A = 1', ['1']],
    ['a line that continues', 'A=one \\\ntwo\nB=3', ['one two', '3']],
    ['a quoted value over two lines', 'A="one\ntwo"\nB=3', ['one\ntwo', '3']],
    ['comments and empty lines', '# A=1 \\\n; B=2\n\nC=3', ['3']],
    ['what is not an assignment', 'export A=1\nA B=2\n9=1\nC=3', ['3']],
    ['an empty value', 'A=\nB=', ['', '']],
    ['a hash within a value', 'A=a#b', ['a#b']],
  ])('%s', (_name, text, values) => {
    expect(parseEnvironmentFile(text).map(([, value]) => value)).toEqual(values);
  });
});
