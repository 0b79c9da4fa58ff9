/** Whether configs of kube-system are still granted, by what an earlier controller left there and what names it. */
import { expect, test } from 'vitest';
import { ApiError } from '../api/status.js';
import { silentLog } from '../log.js';
import { defaultNamespaces } from './config-namespaces.js';

interface Cluster {
  /** ConfigMaps of kube-system that have a grant. */
  granted?: string[];
  /** ConfigMaps, NAMESPACE/NAME, that NodeConfigs assign. */
  assigned?: string[];
  /** Name of a set. */
  inSet?: string;
  hasRights?: boolean;
}

const source = (key: string) => {
  const [namespace = '', name = ''] = key.split('/');
  return { configMap: { namespace, name, kubeletConfigKey: 'kubelet' } };
};

function clientOf({ granted = [], assigned = [], inSet = 'x/y', hasRights = true }: Cluster) {
  const lists: Record<string, object[]> = {
    roles: granted.map((name) => ({ metadata: { name: `relet:kubelet-config:${name}` } })),
    nodeconfigs: assigned.map((key, at) => ({ metadata: { name: `n${at}` }, spec: { configSource: source(key) } })),
    nodeconfigsets: [{ metadata: { name: 's' }, spec: { config: { configMap: source(inSet).configMap } } }],
  };
  const list = async ({ resource }: { resource: string }) => {
    if (resource === 'roles' && !hasRights) throw new ApiError(403, 'Forbidden', 'roles is forbidden');
    return { items: lists[resource], resourceVersion: '' } as never;
  };
  return {
    list,
    async *pages(type: { resource: string }) {
      yield await list(type);
    },
  };
}

test.each<[string, Cluster, string[]]>([
  ['nothing was ever granted in kube-system', { assigned: ['kube-system/a'] }, ['relet-system']],
  ['nobody uses what was granted there', { granted: ['a'], assigned: ['relet-system/a'] }, ['relet-system']],
  ['another ConfigMap there is assigned now', { granted: ['a'], assigned: ['kube-system/b'] }, ['relet-system']],
  [
    'a node uses it',
    { granted: ['a'], assigned: ['relet-system/b', 'kube-system/a'] },
    ['relet-system', 'kube-system'],
  ],
  ['a set uses it', { granted: ['a'], inSet: 'kube-system/a' }, ['relet-system', 'kube-system']],
  [
    'the controller has no rights there',
    { granted: ['a'], assigned: ['kube-system/a'], hasRights: false },
    ['relet-system'],
  ],
])('%s', async (_name, cluster, namespaces) => {
  const { signal } = new AbortController();
  const client = clientOf(cluster) as unknown as Parameters<typeof defaultNamespaces>[0]['client'];
  expect(await defaultNamespaces({ client, log: silentLog, signal })).toEqual(namespaces);
});
