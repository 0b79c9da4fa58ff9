/** The commands of the buttons: fixed arguments, whatever the browser sends. */
import { describe, expect, test } from 'vitest';
import { kubeconfigOf } from './children.js';
import { commandText, nodeCommand, rehearseWords, setCommand } from './commands.js';

describe('commands of a set', () => {
  test.each([
    ['approve', { revision: 'r1', wave: 2 }, 'relet rollout approve gpu --revision r1 --wave 2'],
    ['pause', {}, 'relet rollout pause gpu'],
    ['approve', { wave: 1, why: 'good' }, 'relet rollout approve gpu --wave 1 --why good'],
    ['pause', { why: 'noise' }, 'relet rollout pause gpu --why noise'],
    ['abort', { why: "it's wrong" }, "relet rollout abort gpu --why 'it'\\''s wrong'"],
    ['abort', { revision: 'r1' }, 'relet rollout abort gpu --revision r1'],
    ['retry', { revision: 'r1' }, 'relet rollout retry gpu --revision r1'],
    ['undo', { revision: 'r1', why: 'bad' }, 'relet rollout undo gpu --revision r1 --why bad'],
  ])('%s', (verb, body, text) => expect(commandText(setCommand(verb, 'gpu', body).words)).toBe(text));

  test.each([
    ['another verb', 'delete', 'gpu', {}],
    ['a name that is an option', 'pause', '--all', {}],
    ['a name with a path', 'pause', '../x', {}],
    ['a revision that is an option', 'approve', 'gpu', { revision: '--full' }],
    ['a wave that is not a number', 'approve', 'gpu', { wave: '1 --full' }],
    ['a reason of two lines', 'undo', 'gpu', { why: 'a\nb' }],
  ])('%s is rejected', (_name, verb, name, body) => expect(() => setCommand(verb, name, body)).toThrow());
});

describe('commands of a node', () => {
  test('a change names its fields, and asks nothing', () => {
    const command = nodeCommand('set', 'node-1', {
      fields: ['maxPods=150', 'evictionHard.memory.available=1Gi'],
      accept: ['drain'],
    });
    expect(commandText(command.words)).toBe(
      'relet set node-1 maxPods=150 evictionHard.memory.available=1Gi --accept=drain',
    );
    expect(command.more).toEqual(['--yes', '--no-wait', '-o', 'json']);
  });

  test('a hold has its reason, and a release has none', () => {
    expect(nodeCommand('hold', 'node-1', { why: 'broken fan' })).toEqual({
      words: ['hold', 'node-1', '--why', 'broken fan'],
      more: ['-o', 'json'],
    });
    expect(nodeCommand('release', 'node-1', { why: 'x' }).words).toEqual(['release', 'node-1', '--why', 'x']);
    expect(() => nodeCommand('hold', 'node-1', { why: '--all' })).toThrow();
  });

  test.each([
    ['an option in place of a field', { fields: ['--all'] }],
    ['another node in place of a field', { fields: ['node-2'] }],
    ['no field', { fields: [] }],
    ['an impact that does not exist', { fields: ['a=1'], accept: ['everything'] }],
  ])('%s is rejected', (_name, body) => expect(() => nodeCommand('set', 'node-1', body)).toThrow());
});

test('a rehearsal takes numbers and switches, and no file', () => {
  expect(rehearseWords({ nodes: 500, flags: { fail: '2%', 'api-outages': true } })).toEqual([
    ...['rollout', 'rehearse', '-', '--fail=2%', '--api-outages', '--count=500'],
  ]);
  const rejected = [{ html: '/tmp/x' }, { nodes: '/etc/passwd' }, { seed: '1 --html=x' }, { kubeconfig: 'x' }];
  for (const flags of [...rejected, { count: 20_001 }, { seeds: '101' }])
    expect(() => rehearseWords({ flags })).toThrow();
});

test('the kubeconfig of a command has the credential of the session and no other', () => {
  const connection = {
    server: 'https://a',
    cluster: { 'certificate-authority': '/ca' },
    user: { token: 't' },
    userName: '',
    namespace: 'n',
    contextName: '',
  };
  const { clusters, users } = JSON.parse(kubeconfigOf(connection));
  expect([clusters[0].cluster.server, users]).toEqual(['https://a', [{ name: 'dashboard', user: { token: 't' } }]]);
});
