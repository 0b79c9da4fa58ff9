/** How examples are read out of a page. */
import { describe, expect, test } from 'vitest';
import { outputPattern, readBlocks } from './page-blocks.js';

const page = `# Title
\`\`\`yaml file=a.yaml
maxPods: 5
\`\`\`
\`\`\`yaml
not: a file
\`\`\`
\`\`\`console needs=kubectl
$ cat a.yaml
maxPods: 5
$ false   # exits 1
$ cat <<X
> one
> X
one
\`\`\`
\`\`\`sh not-run="needs the network"
npm install
\`\`\`
`;

describe('page blocks', () => {
  test('files, transcripts and scripts are found, other blocks are not', () => {
    expect(readBlocks(page)).toEqual([
      { kind: 'file', name: 'a.yaml', text: 'maxPods: 5\n', line: 3 },
      {
        kind: 'commands',
        needs: ['kubectl'],
        eventually: false,
        stays: false,
        line: 9,
        commands: [
          { command: 'cat a.yaml', status: 0, output: 'maxPods: 5\n', line: 9 },
          { command: 'false', status: 1, output: '', line: 11 },
          { command: 'cat <<X\none\nX', status: 0, output: 'one\n', line: 12 },
        ],
      },
      {
        kind: 'commands',
        notRun: 'needs the network',
        eventually: false,
        stays: false,
        line: 18,
        commands: [{ command: 'npm install', status: 0, output: undefined, line: 18 }],
      },
    ]);
  });

  test.each([
    ['a\nb\n', 'a\nb\n', true],
    ['a\nb\n', 'a\nc\n', false],
    ['a…\n', 'a, and more\n', true],
    ['a\n…\nz\n', 'a\nb\nc\nz\n', true],
    ['a\n…\nz\n', 'a\nz\n', true],
    ['a\n…\n', 'a\nb\nc\n', true],
    ['a\n…\nz\n', 'a\nb\ny\n', false],
    ['1.0 (x)\n', '1x0 (x)\n', false],
    ['', '\n', true],
    ['', 'something\n', false],
  ])('shown %j matches printed %j: %s', (shown, printed, expected) => {
    expect(outputPattern(shown).test(printed)).toBe(expected);
  });

  test.each([
    ['ready after 0.4 s\n', 'ready after 12.0 s\n', true],
    ['https://127.0.0.1:6443  ready\n', 'https://127.0.0.1:40001 ready\n', true],
    ['  node-1      Ready after 1.0 s\n', '  node-3      Ready after 1.3 s\n', true],
    ['my-config-gkt4c2m4b2\n', 'my-config-5k9f89kc8b\n', true],
    ['my-config-gkt4c2m4b2\n', 'another-5k9f89kc8b\n', false],
    ['node-1  local\n', 'node-1  active\n', false],
  ])('with a running system, shown %j matches printed %j: %s', (shown, printed, expected) => {
    expect(outputPattern(shown, { isLoose: true }).test(printed)).toBe(expected);
  });
});

test('a time that is left is not compared, only that there is one', () => {
  expect('trial 8m28s left').toMatch(outputPattern('trial 9m48s left', { isLoose: true }));
  expect('trial over').not.toMatch(outputPattern('trial 9m48s left', { isLoose: true }));
});
