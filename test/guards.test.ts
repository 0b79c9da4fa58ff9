/**
 * The guards that a cluster of today needs around relet, on the embedded server, put up and tried with a real kubectl: a node
 * writes only the status of its own NodeConfig; who writes a kubelet's config is root on that node, so only the chosen may.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../src/apiserver/apiserver.js';
import { findClients, type Outcome, shell } from './replay/kubectl.js';

const [client] = findClients();

const manifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: nodeconfigs.relet.dev }
spec:
  group: relet.dev
  scope: Cluster
  names: { plural: nodeconfigs, singular: nodeconfig, kind: NodeConfig }
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                configSource:
                  type: object
                  properties:
                    configMap:
                      type: object
                      required: [namespace, name, kubeletConfigKey]
                      properties:
                        namespace: { type: string }
                        name: { type: string }
                        kubeletConfigKey: { type: string }
                        sha256: { type: string }
                      x-kubernetes-validations:
                        - rule: "!has(self.sha256) || self.sha256.matches('^[0-9a-f]{64}$')"
                          message: sha256 must be 64 hexadecimal digits
                          fieldPath: .sha256
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: nodeconfig-writer }
rules:
  - { apiGroups: [relet.dev], resources: [nodeconfigs, nodeconfigs/status], verbs: [get, update, patch, delete] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: nodes-write-nodeconfigs }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodeconfig-writer }
subjects: [{ kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:nodes" }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: configmap-writer }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: everybody-writes-configmaps }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: configmap-writer }
subjects: [{ kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated" }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "relet:author" }
rules: [{ apiGroups: [relet.dev], resources: [kubeletconfigs], verbs: [author] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "relet:authors" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "relet:author" }
subjects: [{ kind: User, apiGroup: rbac.authorization.k8s.io, name: ann }]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: relet-node-status }
spec:
  matchConstraints:
    resourceRules:
      - { apiGroups: [relet.dev], apiVersions: ["*"], resources: [nodeconfigs, nodeconfigs/status], operations: ["*"], scope: "*" }
  matchConditions:
    - name: nodes
      expression: has(request.userInfo.groups) && 'system:nodes' in request.userInfo.groups
  validations:
    - expression: has(request.subResource) && request.subResource == 'status'
      message: a node may write the status of a NodeConfig, nothing else
      reason: Forbidden
    - expression: request.userInfo.username == 'system:node:' + request.name
      messageExpression: "request.userInfo.username + ' may not write the status of ' + request.name"
      reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: relet-node-status }
spec: { policyName: relet-node-status, validationActions: [Deny] }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: relet-config-authors }
spec:
  matchConstraints:
    objectSelector:
      matchExpressions: [{ key: relet.dev/kubelet-config, operator: Exists }]
    resourceRules:
      - { apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE, DELETE], scope: "*" }
  variables:
    - name: isMember
      expression: has(request.userInfo.groups) && 'relet:controllers' in request.userInfo.groups
    - name: mayAuthor
      expression: authorizer.group('relet.dev').resource('kubeletconfigs').namespace(request.namespace).check('author').allowed()
  validations:
    - expression: variables.isMember || variables.mayAuthor
      messageExpression: "request.userInfo.username + ' may not write kubelet configs'"
      reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: relet-config-authors }
spec: { policyName: relet-config-authors, validationActions: [Deny] }
`;

describe.skipIf(client === undefined)('guards (skipped where no kubectl is on PATH or in RELET_KUBECTL_DIRS)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'relet-guards-'));
  let server: ApiServer;
  let run: (command: string) => Promise<Outcome>;

  beforeAll(async () => {
    server = await startApiServer();
    run = shell({ client: client!, kubeconfig: server.kubeconfig, folder });
    writeFileSync(join(folder, 'guards.yaml'), manifests);
    expect((await run('kubectl apply -f guards.yaml')).stderr).toBe('');
    writeFileSync(
      join(folder, 'nodeconfigs.yaml'),
      ['a', 'b']
        .map((name) => `apiVersion: relet.dev/v1alpha1\nkind: NodeConfig\nmetadata: { name: node-${name} }\nspec: {}\n`)
        .join('---\n'),
    );
    expect((await run('kubectl apply -f nodeconfigs.yaml')).exit).toBe(0);
  }, 60_000);
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const asNode = '--as=system:node:node-a --as-group=system:nodes --as-group=system:authenticated';
  const status = (name: string) =>
    `kubectl patch nodeconfig ${name} --subresource=status --type=merge -p '{"status":{"note":"${name}"}}'`;

  test('a second apply changes nothing', async () => {
    const { stdout } = await run('kubectl apply -f guards.yaml');
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.endsWith(' unchanged')),
    ).toEqual([]);
  });

  test('a server-side apply is welcome, too', async () => {
    const { stderr, exit } = await run('kubectl apply --server-side --force-conflicts -f guards.yaml');
    expect({ stderr, exit }).toEqual({ stderr: '', exit: 0 });
  });

  test('kubectl lists them', async () => {
    const { stdout } = await run('kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings');
    expect(stdout).toMatch(/NAME\s+VALIDATIONS\s+PARAMKIND\s+AGE/);
    expect(stdout).toMatch(/relet-node-status\s+2\s+<unset>/);
    expect(stdout).toMatch(/NAME\s+POLICYNAME\s+PARAMREF\s+AGE/);
  });

  test('a node writes the status of its own NodeConfig', async () => {
    expect((await run(`${status('node-a')} ${asNode}`)).stdout).toContain('patched');
    expect((await run("kubectl get nodeconfig node-a -o jsonpath='{.status.note}'")).stdout).toBe('node-a');
  });

  test.each([
    ['the status of another', status('node-b'), 'system:node:node-a may not write the status of node-b'],
    [
      'its own spec',
      `kubectl patch nodeconfig node-a --type=merge -p '{"spec":{"configSource":null}}'`,
      'a node may write the status of a NodeConfig, nothing else',
    ],
    ['its own end', 'kubectl delete nodeconfig node-a', 'a node may write the status of a NodeConfig, nothing else'],
  ])('a node does not write %s', async (_what, command, message) => {
    const { exit, stderr } = await run(`${command} ${asNode}`);
    expect(exit).toBe(1);
    expect(stderr).toContain(
      `ValidatingAdmissionPolicy 'relet-node-status' with binding 'relet-node-status' denied request: ${message}`,
    );
  });

  test('an administrator writes any spec that is sound', async () => {
    const source = (sha256: string) =>
      JSON.stringify({
        spec: { configSource: { configMap: { namespace: 'n', name: 'c', kubeletConfigKey: 'k', sha256 } } },
      });
    const patch = (sha256: string) => run(`kubectl patch nodeconfig node-a --type=merge -p '${source(sha256)}'`);
    expect((await patch('a'.repeat(64))).exit).toBe(0);
    expect((await patch('zz')).stderr).toContain(
      'spec.configSource.configMap.sha256: Invalid value: "object": sha256 must be 64 hexadecimal digits',
    );
  });

  const somebody = '--as=bob --as-group=system:authenticated';
  const author = '--as=ann --as-group=system:authenticated';
  const controller = '--as=controller --as-group=relet:controllers --as-group=system:authenticated';
  const refused =
    "ValidatingAdmissionPolicy 'relet-config-authors' with binding 'relet-config-authors' denied request: bob may not write kubelet configs";

  test('everybody writes ConfigMaps that are none', async () => {
    expect((await run(`kubectl create configmap plain --from-literal=a=b ${somebody}`)).exit).toBe(0);
    expect((await run(`kubectl delete configmap plain ${somebody}`)).exit).toBe(0);
  });

  test.each([
    ['authors', author],
    ['controllers', controller],
  ])('%s make, change and delete kubelet configs', async (_who, as) => {
    expect((await run(`kubectl create configmap config --from-literal=kubelet=x ${as}`)).exit).toBe(0);
    expect((await run(`kubectl label configmap config relet.dev/kubelet-config= ${as}`)).stderr).toBe('');
    expect((await run(`kubectl annotate configmap config note=1 ${as}`)).stderr).toBe('');
    expect((await run(`kubectl delete configmap config ${as}`)).stderr).toBe('');
  });

  test('others neither mark, change, unmark nor delete one', async () => {
    await run(`kubectl create configmap guarded ${author}`);
    const label = (change: string, as: string) => run(`kubectl label configmap guarded ${change} ${as}`);
    expect((await label('relet.dev/kubelet-config=', somebody)).stderr).toContain(refused);
    expect((await label('relet.dev/kubelet-config=', author)).exit).toBe(0);
    expect((await run(`kubectl annotate configmap guarded note=1 ${somebody}`)).stderr).toContain(refused);
    expect((await label('relet.dev/kubelet-config-', somebody)).stderr).toContain(refused);
    expect((await run(`kubectl delete configmap guarded ${somebody}`)).stderr).toContain(refused);
    expect((await run(`kubectl get configmap guarded ${somebody}`)).exit).toBe(0);
  });
});
