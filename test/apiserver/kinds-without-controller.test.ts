/** Kinds without a controller: workloads, budgets, services, volumes. Their columns and defaults. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf } from './client.js';

const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'i:1' }], volumes: [{ name: 'v', configMap: { name: 'x' } }] },
};
const selector = { matchLabels: { app: 'a' }, matchExpressions: [{ key: 'b', operator: 'In', values: ['2', '1'] }] };

let server: ApiServer;
let client: Client;

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
});
afterAll(() => server.close());

async function make(apiVersion: string, kind: string, plural: string, content: object) {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const isNamespaced = kind !== 'PersistentVolume';
  const path = `${root}${isNamespaced ? '/namespaces/default' : ''}/${plural}`;
  const body = { apiVersion, kind, metadata: { name: 'a' }, ...content };
  const made = await client.call({ method: 'POST', path, body });
  const shown = await client.call({ path: `${path}/a`, headers: table });
  return { made, cells: shown.json.rows?.[0].cells.map((cell: unknown) => (/^\d+s$/.test(String(cell)) ? '' : cell)) };
}

test.each([
  [
    'apps/v1',
    'Deployment',
    'deployments',
    { spec: { selector, template } },
    ['a', '0/1', 0, 0, '', 'c', 'i:1', 'app=a,b in (1,2)'],
  ],
  [
    'apps/v1',
    'DaemonSet',
    'daemonsets',
    { spec: { selector, template } },
    ['a', 0, 0, 0, 0, 0, '<none>', '', 'c', 'i:1', 'app=a,b in (1,2)'],
  ],
  [
    'apps/v1',
    'ReplicaSet',
    'replicasets',
    { spec: { replicas: 2, selector, template } },
    ['a', 2, 0, 0, '', 'c', 'i:1', 'app=a,b in (1,2)'],
  ],
  [
    'apps/v1',
    'ControllerRevision',
    'controllerrevisions',
    {
      metadata: {
        name: 'a',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'x', uid: 'u', controller: true }],
      },
      revision: 3,
    },
    ['a', 'daemonset.apps/x', '3', ''],
  ],
  ['apps/v1', 'StatefulSet', 'statefulsets', { spec: { selector, template } }, ['a', '0/1', '', 'c', 'i:1']],
  [
    'v1',
    'ReplicationController',
    'replicationcontrollers',
    { spec: { template } },
    ['a', 1, 0, 0, '', 'c', 'i:1', 'app=a'],
  ],
  [
    'batch/v1',
    'CronJob',
    'cronjobs',
    { spec: { schedule: '* * * * *', jobTemplate: { spec: { template } } } },
    ['a', '* * * * *', '<none>', 'False', 0, '<none>', '', 'c', 'i:1'],
  ],
  [
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    { spec: { minAvailable: '50%', selector } },
    ['a', '50%', 'N/A', 0, ''],
  ],
  ['v1', 'ResourceQuota', 'resourcequotas', { spec: { hard: { pods: '2' } } }, ['a', '', '', '']],
  [
    'v1',
    'Service',
    'services',
    { spec: { selector: { app: 'a' }, ports: [{ port: 80 }, { port: 53, protocol: 'UDP', nodePort: 30_000 }] } },
    ['a', 'ClusterIP', '<none>', '<none>', '80/TCP,53:30000/UDP', '', 'app=a'],
  ],
  [
    'v1',
    'Endpoints',
    'endpoints',
    { subsets: [{ addresses: ['1', '2', '3', '4'].map((ip) => ({ ip: `10.0.0.${ip}` })), ports: [{ port: 80 }] }] },
    ['a', '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...', ''],
  ],
  [
    'networking.k8s.io/v1',
    'Ingress',
    'ingresses',
    { spec: { rules: [{ host: 'a.b' }], tls: [{ hosts: ['a.b'] }] } },
    ['a', '<none>', 'a.b', '', '80, 443', ''],
  ],
  [
    'v1',
    'PersistentVolume',
    'persistentvolumes',
    { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a' } } },
    ['a', '1Gi', 'RWO', 'Retain', 'Pending', '', '', '<unset>', '', '', 'Filesystem'],
  ],
  [
    'v1',
    'PersistentVolumeClaim',
    'persistentvolumeclaims',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    ['a', 'Pending', '', '', '', '', '<unset>', '', 'Filesystem'],
  ],
])('%s %s has the columns of Kubernetes', async (apiVersion, kind, plural, content, cells) => {
  const { made, cells: shown } = await make(apiVersion, kind, plural, content);
  expect(made.code).toBe(201);
  expect(shown).toEqual(cells);
});

test('a Job gets a selector with its uid, and is shown as running', async () => {
  const { made, cells } = await make('batch/v1', 'Job', 'jobs', { spec: { template } });
  const { uid } = made.json.metadata;
  expect(made.json.spec.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': uid } });
  expect(made.json.spec.template.metadata.labels).toMatchObject({ app: 'a', 'job-name': 'a', 'controller-uid': uid });
  expect(cells.slice(0, 4)).toEqual(['a', 'Running', '0/1', '']);
});

test('Pod templates get the defaults of Pods', async () => {
  const { json } = await client.call({ path: '/apis/apps/v1/namespaces/default/deployments/a' });
  const { spec } = json.spec.template;
  expect(spec).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
  expect(spec.containers[0]).toMatchObject({ imagePullPolicy: 'IfNotPresent' });
  expect(spec.volumes[0].configMap).toEqual({ name: 'x', defaultMode: 0o644 });
});

test('a DaemonSet increments its generation when its template changes', async () => {
  const path = '/apis/apps/v1/namespaces/default/daemonsets/a';
  const headers = { 'content-type': 'application/merge-patch+json' };
  const count = async (body: object) => {
    const { json } = await client.call({ method: 'PATCH', path, headers, body });
    return json.metadata.annotations['deprecated.daemonset.template.generation'];
  };
  expect(await count({ metadata: { labels: { x: 'y' } } })).toBe('1');
  expect(await count({ spec: { template: { metadata: { labels: { x: 'y' } } } } })).toBe('2');
});

test('a LimitRange gets defaults from max, min, and each other', async () => {
  const limits = [{ type: 'Container', max: { cpu: '2' }, min: { memory: '1Gi' } }];
  const { made } = await make('v1', 'LimitRange', 'limitranges', { spec: { limits } });
  expect(made.json.spec.limits[0]).toMatchObject({
    default: { cpu: '2' },
    defaultRequest: { cpu: '2', memory: '1Gi' },
  });
});
