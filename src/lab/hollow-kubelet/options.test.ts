/** The hollow kubelet's command line, and failing on demand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { misbehavioursFor, parseConditional, parseMisbehaviour } from './misbehaviour.js';
import { ownFlags, readHollowOptions } from './options.js';

const read = (...args: string[]) => readHollowOptions(args, '1.32.1');

describe('the command line', () => {
  test('kubelet flags are parsed as the kubelet parses them', () => {
    const options = read(
      '--config',
      '/c',
      '--kubeconfig=/k',
      '--hostname_override=n',
      '--node-labels=a=b,c=',
      '-v=4',
      '--max-pods=9',
    );
    expect(options).toMatchObject({
      version: '1.32.1',
      config: '/c',
      kubeconfig: '/k',
      hostnameOverride: 'n',
      nodeLabels: { a: 'b', c: '' },
      verbosity: 4,
      certDir: '/var/lib/kubelet/pki',
      showVersion: false,
      force: false,
    });
    expect(options.kubeletArgs).toEqual([
      '--config',
      '/c',
      '--kubeconfig=/k',
      '--hostname_override=n',
      '--node-labels=a=b,c=',
      '-v=4',
      '--max-pods=9',
    ]);
  });

  test('flags of the hollow kubelet are not passed to the kubelet part', () => {
    const options = read(
      '--hollow-version=v1.23.17',
      '--hollow-force',
      '--hollow-fail=never-healthy',
      '--hollow-fail-if',
      'a=b:lose-api',
    );
    expect(options).toMatchObject({ version: '1.23.17', force: true, kubeletArgs: [] });
    expect([options.fail.length, options.failIf.length]).toEqual([1, 1]);
  });

  test.each([
    [['--hollow-fall=x'], '--hollow-fall: there is no such flag'],
    [['--hollow-version=latest'], '--hollow-version=latest: must be a version such as 1.32.1'],
    [['--config'], 'flag needs an argument: --config'],
    [['run'], 'unknown command "run"'],
  ])('%j is rejected', (args, message) => expect(() => read(...args)).toThrow(message));
});

describe('failing on demand', () => {
  test.each([
    ['exit-at-start', { kind: 'exit-at-start' }],
    ['never-healthy', { kind: 'never-healthy' }],
    ['die-after=1m30s', { kind: 'die-after', ms: 90_000 }],
    ['lose-api', { kind: 'lose-api', ms: 0 }],
    ['lose-api=500ms', { kind: 'lose-api', ms: 500 }],
    ['slow-start=2s', { kind: 'slow-start', ms: 2000 }],
  ])('%s', (text, expected) => expect(parseMisbehaviour(text)).toEqual(expected));

  test.each(['', 'explode', 'die-after', 'die-after=soon', 'die-after=-1s', 'exit-at-start=1s'])(
    '%j is rejected',
    (text) =>
      expect(() => parseMisbehaviour(text)).toThrow(`--hollow-fail=${text}: must be exit-at-start, never-healthy`),
  );

  test.each([
    ['maxPods=66:exit-at-start', true],
    ['maxPods=67:exit-at-start', false],
    ['authentication.anonymous.enabled=true:exit-at-start', true],
    ['evictionHard[memory.available]=100Mi:exit-at-start', true],
    ['clusterDNS=["10.0.0.10"]:exit-at-start', true],
    ['clusterDomain=a:b:exit-at-start', true],
    ['nothing.here=1:exit-at-start', false],
    ['constructor.name=Object:exit-at-start', false],
  ])('fails only if %s', (text, expected) => {
    const config = {
      maxPods: 66,
      authentication: { anonymous: { enabled: true } },
      evictionHard: { 'memory.available': '100Mi' },
      clusterDNS: ['10.0.0.10'],
      clusterDomain: 'a:b',
    };
    expect(misbehavioursFor(config, [], [parseConditional(text)])).toHaveLength(expected ? 1 : 0);
  });

  test.each(['maxPods', 'maxPods=66', 'exit-at-start:maxPods=66'])('%j is not a valid condition', (text) =>
    expect(() => parseConditional(text)).toThrow('--hollow-fail-if='),
  );
});

describe('the page', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/hollow-kubelet.md'), 'utf8');
  test('docs/hollow-kubelet.md names every flag of the hollow kubelet, and no other', () => {
    expect([...page.matchAll(/^\| `--(hollow-[a-z-]+)`/gm)].map(([, name]) => name).sort()).toEqual(
      [...ownFlags].sort(),
    );
  });

  test('docs/hollow-kubelet.md names every failure', () => {
    const named = [...page.matchAll(/^\| `([a-z][a-z-]*)(?:\[?=DURATION\]?)?` \|/gm)].map(([, kind]) => kind);
    expect(named).toEqual(['exit-at-start', 'never-healthy', 'die-after', 'lose-api', 'slow-start']);
    for (const kind of named) {
      const waits = page.includes(`\`${kind}=DURATION\``);
      expect(parseMisbehaviour(waits ? `${kind}=1s` : kind!).kind).toBe(kind);
    }
  });
});
