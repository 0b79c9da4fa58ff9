/** Completion as shells and kubectl ask for it: words from the declarations, names from the cluster, silence when it is not there. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { define } from './definitions.js';
import { header, OperatorCluster } from './operator-rig.js';
import { needs } from './programs.js';
import { executable } from './run-relet.js';

let cluster: OperatorCluster;
let bin: string;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  await cluster.node('node-1', { does: 'deaf' });
  await cluster.node('node-2', { does: 'deaf' });
  writeFileSync(join(cluster.dir, 'k.yaml'), `${header}maxPods: 7\n`);
  await cluster.relet('push k.yaml --name mine');
  await define(cluster.admin, 'nodeconfigsets');
  const spec = { selector: {}, config: { overlay: { maxPods: 7 } } };
  const set = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: 'gpu' }, spec };
  await cluster.admin.create(nodeConfigSets, {}, set);
  const waves = [1, 2].map((wave) => ({ wave, nodes: wave, state: 'Pending' }));
  const place = { name: 'gpu', subresource: 'status' };
  await cluster.admin.patch(nodeConfigSets, place, { status: { waves } }, { as: 'merge' });
  // As npm installs them.
  bin = join(cluster.dir, 'bin');
  mkdirSync(bin);
  const link = (name: string, target: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${target}' "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  };
  link('relet', executable);
  link('kubectl-relet', executable);
  link('kubectl_complete-relet', join(executable, '..', 'kubectl_complete-relet.cjs'));
});
afterAll(() => cluster?.close());

const env = () => ({ ...cluster.environment(), PATH: `${bin}:${process.env.PATH}` });
const complete = async (...words: string[]) => {
  const { stdout, stderr, status } = await cluster.relet(['__complete', ...words]);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  const lines = stdout.trimEnd().split('\n');
  return { words: lines.slice(0, -1).map((line) => line.split('\t')[0]!), directive: lines.at(-1) };
};

describe('relet __complete', () => {
  test.each<[string, string[], string[]]>([
    ['verbs', ['ge'], ['get']],
    ['nodes', ['describe', ''], ['node-1', 'node-2']],
    ['nodes after nodes', ['reset', 'node-1', 'node-2'], ['node-2']],
    ['values of options', ['wait', '--for', 'la'], ['lastKnownGood']],
    ['values behind an equals sign', ['wait', '--for=la'], ['--for=lastKnownGood']],
    ['options', ['get', '--sel'], ['--selector']],
    ['namespaces', ['push', '-n', 'kube-s'], ['kube-system']],
    ['contexts', ['get', '--context='], ['--context=relet']],
    ['subcommands', ['config', 'def'], ['defaults']],
    ['versions', ['config', 'upgrade-check', '--to=1.3'], Array.from({ length: 8 }, (_, at) => `--to=1.${37 - at}`)],
    ['subcommands of rollout', ['rollout', 'app'], ['approve']],
    ['sets', ['rollout', 'status', ''], ['gpu']],
    ['options of a rehearsal', ['rollout', 'rehearse', 'gpu', '--not'], ['--not-ready']],
    ['sets for --as-set', ['set', '--as-set', 'g'], ['gpu']],
    ['waves of the set', ['rollout', 'approve', 'gpu', '--wave', ''], ['1', '2']],
    ['nodes to adopt', ['rollout', 'adopt', 'gpu', 'node-1'], ['node-1']],
    ['nodes to check', ['config', 'upgrade-check', '--node', 'node-2'], ['node-2']],
    ['nothing for the number of a revision', ['undo', 'node-1', '--to', ''], []],
    ['fields to explain', ['config', 'explain', 'logging.fo'], ['logging.format']],
    ['shells', ['completion', 'z'], ['zsh']],
    ['nothing behind the last argument', ['describe', 'node-1', ''], []],
    ['nothing for free text', ['set', 'node-1', '-m', ''], []],
  ])('%s', async (_name, words, expected) => {
    expect(await complete(...words)).toEqual({ words: expected, directive: ':4' });
  });

  test('ConfigMaps that relet made', async () => {
    const { words } = await complete('assign', 'mi');
    expect(words).toEqual([expect.stringMatching(/^mine-\w{10}$/)]);
  });

  test('fields to set end in an equals sign, without a space', async () => {
    expect(await complete('set', 'node-1', 'maxPo')).toEqual({ words: ['maxPods='], directive: ':6' });
    expect((await complete('set', 'node-1', 'maxPods=1')).words).toEqual([]);
  });

  test('keys of a map and values of a field', async () => {
    const keys = await complete('set', 'node-1', 'evictionHard.m');
    expect(keys).toEqual({ words: ['evictionHard.memory.available='], directive: ':6' });
    const values = await complete('set', 'node-1', 'cpuManagerPolicy=');
    expect(values).toEqual({ words: ['cpuManagerPolicy=none', 'cpuManagerPolicy=static'], directive: ':4' });
  });

  test('flags of the processes on a node', async () => {
    expect(await complete('agent', '--un')).toEqual({ words: ['--unit='], directive: ':6' });
    expect(await complete('kubelet', '--dyn')).toEqual({ words: ['--dynamic-config-dir='], directive: ':6' });
    expect(await complete('agent', '--che')).toEqual({ words: ['--check'], directive: ':4' });
  });

  test('files beside nodes, for what compares a node with a file', async () => {
    mkdirSync(join(cluster.dir, 'keep'), { recursive: true });
    writeFileSync(join(cluster.dir, 'keep', 'other.json'), '{}');
    writeFileSync(join(cluster.dir, 'keep', 'notes.txt'), '');
    expect((await complete('diff', 'node-1', 'k')).words).toEqual(['k.yaml', 'keep/']);
    expect((await complete('diff', 'node-1', 'keep/')).words).toEqual(['keep/other.json']);
    expect((await complete('diff', 'node-1', '')).words).toEqual(expect.arrayContaining(['node-1', 'k.yaml']));
    expect(await complete('config', 'diff', '')).toEqual({ words: [], directive: ':0' });
  });

  test('files are left to the shell', async () => {
    expect(await complete('push', '')).toEqual({ words: [], directive: ':0' });
  });

  test('without a cluster there are no names, and no complaint', async () => {
    const { stdout, stderr, status } = await cluster.relet('__complete get ', { env: { KUBECONFIG: '/none' } });
    expect({ stdout, stderr, status }).toEqual({ stdout: ':4\n', stderr: '', status: 0 });
  });
});

describe('the scripts', () => {
  test.skipIf(needs('bash').isMissing)(`bash completes with it${needs('bash').note}`, () => {
    const script = `
      source <(relet completion bash)
      try() { COMP_LINE="$1"; COMP_POINT=\${#1}; _relet; echo "\${COMPREPLY[*]}"; }
      try 'relet descr'; try 'relet describe '; try 'relet wait --for=la'; try 'relet set node-1 maxPo'
      try 'relet set node-1 cpuManagerPolicy='; try 'relet set node-1 evictionHard.me'`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { env: env(), encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({
      stdout: 'describe\nnode-1 node-2\nlastKnownGood\nmaxPods=\nnone static\nevictionHard.memory.available=\n',
      stderr: '',
    });
  });

  test.skipIf(needs('zsh').isMissing)(`zsh reads it and completes with it${needs('zsh').note}`, () => {
    const script = `
      source <(relet completion zsh)
      _describe() { print -r -- \${(P)2}; }
      words=(relet describe ''); CURRENT=3; _relet
      words=(relet wait --for=la); CURRENT=3; _relet`;
    const { stdout } = spawnSync('zsh', ['-f', '-c', script], { env: env(), encoding: 'utf8' });
    expect(stdout).toBe('node-1 node-2\n--for=lastKnownGood\n');
  });

  test.skipIf(needs('fish').isMissing)(`fish completes with it${needs('fish').note}`, () => {
    const script = 'relet completion fish | source; complete -C "relet describe "; complete -C "relet wait --for=la"';
    const { stdout } = spawnSync('fish', ['-c', script], { env: env(), encoding: 'utf8' });
    expect(stdout).toBe('node-1\nnode-2\n--for=lastKnownGood\n');
  });

  test.skipIf(needs('kubectl').isMissing)(`kubectl asks kubectl_complete-relet${needs('kubectl').note}`, (context) => {
    const { stdout } = spawnSync('kubectl', ['__complete', 'relet', 'describe', ''], { env: env(), encoding: 'utf8' });
    // Clients before 1.26 do not complete plugins.
    if (!stdout.includes(':')) context.skip();
    expect(stdout).toContain('node-1\nnode-2\n:4');
  });

  test('another shell is refused', async () => {
    const { status, stderr } = await cluster.relet('completion tcsh');
    expect(status).toBe(2);
    expect(stderr).toContain("there is no script for 'tcsh'; choose one of bash, zsh, fish");
  });
});
