/** Writes into a history what the API server stores and answers, and what processes log. */
import { type NodeConfigSource, refOf } from '../../api/config-ref.js';
import type { NodeCondition } from '../../api/node-condition.js';
import { isUnset, type NodeConfig } from '../../api/node-config.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { KubeObject } from '../../api/object.js';
import type { Log } from '../../log.js';
import type { Store, StoreEvent } from '../../memory-api/store/store.js';
import type { Answered } from '../../rehearsal/simulation/network.js';
import { domainIn } from './configs.js';
import type { History, ReportedStatus } from './history.js';

export function recordObjects(store: Store, history: History): void {
  const follow = <T>(group: string, resource: string, see: (object: T & KubeObject) => void) =>
    store.subscribe({ group, resource }, (event: StoreEvent) => {
      if (event.type !== 'deleted') see(JSON.parse(event.bytes.toString('utf8')));
    });
  const seen = new Map<string, string>();
  const isNew = (key: string, value: unknown) => {
    const text = JSON.stringify(value) ?? '';
    if (seen.get(key) === text) return false;
    seen.set(key, text);
    return true;
  };
  follow<NodeConfig>('relet.dev', 'nodeconfigs', (object) => {
    const node = object.metadata.name;
    const config = isUnset(object) ? null : object.spec?.configSource?.configMap?.name;
    if (isNew(`${node} spec`, config ?? `${config}`)) history.add({ kind: 'spec', node, config });
    const status = reported(object);
    if (status === undefined) return;
    const isCurrent = object.status?.observedGeneration === object.metadata.generation;
    const [isNewText, isNowCurrent] = [
      isNew(`${node} status`, status),
      isNew(`${node} current`, isCurrent) && isCurrent,
    ];
    if (isNewText || isNowCurrent) history.add({ kind: 'status', node, status, isCurrent });
  });
  follow<{ spec?: { unschedulable?: boolean }; status?: { conditions?: NodeCondition[] } }>('', 'nodes', (object) => {
    const { metadata, spec, status } = object;
    const node = metadata.name;
    const isCordoned = spec?.unschedulable ?? false;
    if (isNew(`${node} cordon`, isCordoned)) history.add({ kind: 'cordon', node, isCordoned });
    const isReady = status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    if (isNew(`${node} ready`, isReady)) history.add({ kind: 'ready', node, isReady });
  });
  follow<{ data?: Record<string, string> }>('', 'configmaps', ({ metadata, data }) => {
    const text = data?.kubelet;
    const { name: config, resourceVersion = '' } = metadata;
    if (text !== undefined) history.add({ kind: 'config', config, resourceVersion, domain: domainIn(text) });
  });
  follow<NodeConfigSet>('relet.dev', 'nodeconfigsets', ({ metadata, status }) => {
    const isSeen = status?.observedGeneration === metadata.generation;
    const kstatus = ['Ready', 'Reconciling', 'Stalled'];
    const condition = isSeen
      ? status?.conditions?.find(({ type, status }) => status === 'True' && kstatus.includes(type))
      : undefined;
    const state = `${condition?.type ?? 'Unknown'} ${condition?.reason ?? ''}`;
    const isObserving = status?.analyses?.some(
      (one) => one.state === 'Observing' && one.revision === status.updateRevision,
    );
    if (isNew(`set ${metadata.name}`, [state, isObserving]))
      history.add({ kind: 'set', set: metadata.name, state, ...(isObserving && { isObserving }) });
  });
  follow<{ reason: string; message: string; involvedObject: { name: string } }>('', 'events', (event) => {
    const { reason, message, involvedObject } = event;
    history.add({ kind: 'event', node: involvedObject.name, reason, message });
  });
}

function reported({ status }: NodeConfig): ReportedStatus | undefined {
  if (status?.config === undefined) return undefined;
  const { assigned, active, lastKnownGood, error = '' } = status.config;
  const { status: ok = '', reason = '' } = status.conditions?.find(({ type }) => type === 'ConfigOK') ?? {};
  return {
    assigned: nameOf(assigned),
    active: nameOf(active),
    lastKnownGood: nameOf(lastKnownGood),
    error,
    ok: `${ok} ${reason}`,
  };
}

function nameOf(source: NodeConfigSource | undefined): string {
  const ref = refOf(source);
  return ref === undefined ? 'local' : `${ref.name}@${ref.resourceVersion}`;
}

const configMapPath = /^\/api\/v1\/namespaces\/relet-system\/configmaps\/([^/?]+)/;
const configMapQuery =
  /^\/api\/v1\/namespaces\/relet-system\/configmaps\?.*fieldSelector=metadata\.name(?:%3D|=)([^&]+)/;

export function recordAnswers(history: History): (answered: Answered) => void {
  return ({ client, path, status }) => {
    const config = (configMapPath.exec(path) ?? configMapQuery.exec(path))?.[1];
    if (config !== undefined && client.startsWith('node-')) history.add({ kind: 'read', node: client, config, status });
  };
}

/** Errors only: what else is logged is not promised. */
export function recordingLog(history: History, name: string): Log {
  const nothing = () => {};
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (message) => history.add({ kind: 'log', name, message }),
  };
}
