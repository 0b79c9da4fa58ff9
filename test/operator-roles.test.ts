/**
 * The roles that the install page binds are enough for every example of the README: exactly these bindings, a cluster with real
 * nodes, and the commands as the page shows them.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterRoleBindings, roleBindings } from '../src/kube/resource-type.js';
import { clientFor } from './cluster-rig.js';
import { readBlocks } from './page-blocks.js';
import { Program } from './program.js';
import { executable, type Outcome } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const page = (name: string) => readFileSync(join(root, name), 'utf8');
const home = temporaryDir();
const kubeconfig = join(home, '.relet', 'admin.kubeconfig');

/** `relet` is ann, of the group that the page binds; `admin` is who runs the cluster. */
function shell(command: string): Promise<Outcome> {
  const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, KUBECONFIG: kubeconfig };
  return new Program('sh', ['-c', command], { env, cwd: home }).ended;
}

function program(name: string, flags: string): void {
  const path = join(home, 'bin', name);
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@" ${flags}\n`);
  chmodSync(path, 0o755);
}

/** `kubectl create [cluster]rolebinding NAME [-n NAMESPACE] --[cluster]role=ROLE --group=GROUP`, as in the page. */
const bindings = [
  ...page('docs/install.md').matchAll(
    /^kubectl create (clusterrolebinding|rolebinding) (\S+)(?: -n (\S+))? --(clusterrole|role)=(\S+) --group=(\S+)$/gm,
  ),
].map(([, kind, name, namespace, roleKind, role, group]) => ({ kind, name, namespace, roleKind, role, group }));

beforeAll(async () => {
  mkdirSync(join(home, 'bin'));
  program('admin', '');
  program('relet', '--as ann --as-group platform');
  const { status, stderr } = await shell('admin up --detach --nodes 3 --port 0');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const admin = clientFor(kubeconfig);
  const apiGroup = 'rbac.authorization.k8s.io';
  for (const { kind, name, namespace, roleKind, role, group } of bindings) {
    const type = kind === 'rolebinding' ? roleBindings : clusterRoleBindings;
    await admin.create(type, namespace === undefined ? {} : { namespace }, {
      apiVersion: `${apiGroup}/v1`,
      kind: kind === 'rolebinding' ? 'RoleBinding' : 'ClusterRoleBinding',
      metadata: { name: name!, ...(namespace && { namespace }) },
      roleRef: { apiGroup, kind: roleKind === 'role' ? 'Role' : 'ClusterRole', name: role },
      subjects: [{ apiGroup, kind: 'Group', name: group }],
    });
  }
  admin.close();
});
afterAll(async () => {
  await shell('admin down');
});

/** In blocks that are run, and in prose; a question is answered with --yes. */
const examples = [
  ...readBlocks(page('README.md')).flatMap((block) =>
    block.kind === 'commands' && block.notRun === undefined ? block.commands : [],
  ),
  ...[...page('README.md').matchAll(/`(relet (?:describe|view|undo|doctor)[^`]*)`/g)].map(([, command]) => ({
    command: command!.replace(/^relet undo.*/, '$& --yes'),
    status: 0,
  })),
].filter(({ command }) => /^relet (?!up|config|demo)/.test(command));

describe('with the roles of the install page', () => {
  test('three bindings are there, and none of them gives access to kubelets', async () => {
    expect(bindings.map(({ role }) => role)).toEqual(['relet:operator', 'relet:node-events', 'relet:author']);
    const { stderr } = await shell('relet view node-3');
    expect(stderr).toContain('the kubelet of node-3 cannot be asked (nodes/proxy)');
  });

  test('there are examples in the README', () => {
    expect(examples.map(({ command }) => command.split(' ')[1])).toEqual(
      expect.arrayContaining(['set', 'get', 'describe', 'undo', 'view', 'doctor']),
    );
  });

  test.each(examples.map(({ command, status }) => [command, status] as const))('%s', async (command, status) => {
    const ended = await shell(command);
    expect(ended).toMatchObject({ status });
    expect(ended.stdout + ended.stderr).not.toMatch(/forbidden|may not|not known|could not be/);
  });

  test('edit, convert, diff, assign, history and reset work too', async () => {
    writeFileSync(
      join(home, 'whole.yaml'),
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 99\n',
    );
    for (const command of [
      'relet assign $(relet push whole.yaml -o name) node-3 --yes',
      'relet convert node-3 --yes',
      'KUBE_EDITOR="sed -i \'s/maxPods: .*/maxPods: 98/\'" relet edit node-3 --yes',
      'relet diff node-3',
      'relet history node-3',
      'relet set --all --unset maxPods podsPerCore=7 --dry-run=server',
      'relet reset node-1 --yes',
      'relet gc -n relet-system --dry-run',
    ]) {
      const ended = await shell(command);
      expect(ended, command).toMatchObject({ status: 0 });
      expect(ended.stdout + ended.stderr).not.toMatch(/forbidden|may not|not known|could not be/);
    }
  });
});
