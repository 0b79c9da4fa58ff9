/** A node that was taken over writes escape sequences and line breaks into all that it may write: no verb passes them on. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { events, nodes } from '../src/kube/resource-type.js';
import { header, OperatorCluster } from './operator-rig.js';
import { has } from './programs.js';

const hasScript = has('script');
let cluster: OperatorCluster;
const evil =
  '\x1b[2K\r\x1b[32mfine\x1b[0m\x1b]52;c;Y3VybA==\x07\u009b31m\u202ertl\u2028\x7f\nghost2   active   forged\tline';

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  await cluster.node('good');
  const ghost = await cluster.node('ghost');
  await cluster.relet(['set', 'ghost', 'maxPods=120', '--yes', '-m', evil]);
  ghost.close();
  const source = (await cluster.object('ghost')).status.config!.assigned!;
  const forged = { configMap: { ...source.configMap!, resourceVersion: evil, uid: evil } };
  await cluster.admin.patch(
    nodes,
    { name: 'ghost', subresource: 'status' },
    {
      status: {
        nodeInfo: { kubeletVersion: `v1.32.1${evil}` },
        config: { assigned: forged, active: forged, lastKnownGood: forged, error: `rolled back ${evil}` },
        conditions: [
          { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' },
          {
            type: 'ConfigOK',
            status: 'False',
            reason: evil,
            message: evil,
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    },
    { as: 'merge' },
  );
  await cluster.admin.patch(
    nodes,
    { name: 'ghost' },
    { metadata: { annotations: { 'relet.dev/agent-version': evil, 'relet.dev/trial-ends': evil, evil } } },
    { as: 'merge' },
  );
  await cluster.admin.create(
    events,
    { namespace: 'default' },
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: 'ghost.1' },
      involvedObject: { kind: 'Node', name: 'ghost', uid: 'ghost' },
      type: 'Warning',
      reason: `KubeletConfig${evil}`,
      message: evil,
      lastTimestamp: '2026-01-01T00:00:00Z',
    },
  );
  cluster.file('evil.yaml', `${header}maxPods: "${'\x1b[31m'}\u202e"\n"a\u009b\\nb": 1\n${evil}`);
});
afterAll(() => cluster?.close());

const reportError = (error: string | null) =>
  cluster.admin.patch(
    nodes,
    { name: 'ghost', subresource: 'status' },
    { status: { config: { error } } },
    { as: 'merge' },
  );

/** Removes the characters that are allowed: line ends in a pipe, and on a terminal also relet's own colours and moves of live lines. */
const plain = (text: string) => text.replace(/\n/g, '');
const withoutOwn = (screen: string) => plain(screen).replace(/\x1b\[\d*[mAJ]|\r(?=\x1b\[)|\x1b\[\?25[hl]|\r$/g, '');
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Line breaks that a person types stay in what is said about them. */
const typed = evil.replace(/[\n\t]/g, '');
const verbs: string[][] = [
  ['get'],
  ['get', '-o', 'wide', '--show-labels'],
  ['get', 'ghost', '-o', 'json'],
  ['get', 'ghost', '-o', 'yaml'],
  ['get', 'ghost', '-o', 'jsonpath={.status.error}'],
  ['get', '-o', 'custom-columns=N:.metadata.name,E:.status.error,V:.status.kubeletVersion'],
  ['get', '--sort-by', 'error'],
  ['describe', 'ghost'],
  ['history', 'ghost'],
  ['history', 'ghost', '-o', 'json'],
  ['wait', 'ghost', '--timeout=0'],
  ['wait', 'ghost', '--for=ok', '--timeout=0'],
  ['view', 'ghost', '--assigned'],
  ['view', 'ghost', '--active'],
  ['diff', 'ghost'],
  ['diff', 'good', 'evil.yaml'],
  ['doctor'],
  ['doctor', 'ghost', '-o', 'json'],
  ['set', 'ghost', 'maxPods=121', '--yes', '--timeout=1s'],
  ['set', 'good', `maxPods=${typed}`, '--yes'],
  ['undo', 'ghost', '--yes', '--no-wait'],
  ['undo', 'ghost', '--to', '99'],
  ['config', 'validate', 'evil.yaml'],
  ['config', 'validate', 'evil.yaml', '-o', 'json'],
  ['config', 'diff', 'evil.yaml', 'evil.yaml'],
  ['config', 'explain', typed],
  ['push', 'evil.yaml'],
  [typed],
  ['get', `--${typed}`],
  ['__complete', 'describe', ''],
];

describe('a hostile node', () => {
  test('the file that edit opens has no control character, and no line that the node wrote', async () => {
    const copy = join(cluster.dir, 'opened.yaml');
    await reportError(null);
    await cluster.relet(['edit', 'ghost', '--yes'], { env: { KUBE_EDITOR: `sh -c 'cp "$0" ${copy}'` } });
    await reportError(`rolled back ${evil}`);
    const opened = readFileSync(copy, 'utf8');
    expect(opened).toContain('u001b');
    expect(opened).toContain('maxPods: ');
    expect(plain(opened)).not.toMatch(unsafe);
    expect(opened).not.toMatch(/^ghost2 /m);
  });

  test.each(verbs.map((args) => [args.join(' ').replace(typed, 'EVIL'), args] as const))(
    'relet %s: no control character, no forged line',
    async (_name, args) => {
      const { stdout, stderr } = await cluster.relet(args);
      expect(plain(stdout + stderr).replaceAll('\t', args[0] === '__complete' ? '' : '\t')).not.toMatch(unsafe);
      expect(stdout + stderr).not.toMatch(/^ghost2 /m);
      expect(stdout + stderr).not.toContain('bug in relet');
    },
  );

  test('JSON of it is JSON', async () => {
    const { stdout } = await cluster.relet(['get', 'ghost', '-o', 'json']);
    expect(JSON.parse(stdout).status.error).toContain('\\u001b[32mfine');
  });

  test.runIf(hasScript)('get -w on a terminal: neither the rows nor what changes brings more', async () => {
    const { screen, status } = await cluster.terminal(['get', 'ghost', '-w'], {
      keys: [
        ['ghost', () => reportError(`second ${evil}`).then(() => '')],
        ['second', '\x03'],
      ],
    });
    expect({ status, screen }).toEqual({ status: 130, screen: expect.stringContaining('second') });
    expect(withoutOwn(screen)).not.toMatch(unsafe);
    expect(screen).not.toContain('\x1b[0m');
    expect(screen).not.toMatch(/^ghost2 /m);
  });

  test.runIf(hasScript)('on a terminal only the colours and moves of relet itself arrive', async () => {
    for (const args of [
      ['get'],
      ['describe', 'ghost'],
      ['doctor'],
      ['set', 'ghost', 'maxPods=122', '--yes', '--timeout=1s'],
    ]) {
      const { screen } = await cluster.terminal(args);
      expect(withoutOwn(screen), args.join(' ')).not.toMatch(unsafe);
      expect(screen).not.toContain('\x1b[0m');
      expect(screen).not.toMatch(/^ghost2 /m);
    }
  });
});
