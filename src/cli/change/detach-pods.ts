/**
 * `relet detach --image`: removes relet from hosts without a running agent, with one pod per node, one after the other. The pod has the
 * mounts and permissions of the agent, runs `relet detach --host`, and ends. The agent's DaemonSet, where it is still there, and what the
 * agent reported of the kubelet's flags have the paths of the host; the paths of kubeadm are the default.
 */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { configNamespace, type KubeletFlag } from '../../api/node-config.js';
import type { KubeObject } from '../../api/object.js';
import { isForbidden, isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { pods, type ResourceType } from '../../kube/resource-type.js';
import { oneLine } from '../../visible-text.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { type Session, selectNodes, withResultSession } from '../session.js';
import type { AssignOptions } from './assign.js';
import { confirm } from './change-to.js';

export interface DetachPodsOptions extends AssignOptions {
  image: string;
  unit?: string;
}

interface Container {
  name: string;
  image: string;
  args: string[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  [field: string]: unknown;
}

interface Volume {
  name: string;
  hostPath?: { path: string; type?: string };
  [field: string]: unknown;
}

interface PodSpec {
  containers: Container[];
  volumes: Volume[];
  [field: string]: unknown;
}

/** The agent's DaemonSet, of the cluster or of deploy/. */
interface DaemonSet extends KubeObject {
  spec: { template: { spec: PodSpec } };
}

interface Pod extends KubeObject {
  spec: PodSpec;
  status?: {
    phase?: string;
    message?: string;
    containerStatuses?: {
      state?: { terminated?: { message?: string }; waiting?: { reason?: string; message?: string } };
    }[];
  };
}

/** As long as a trial of the local config may take, and the start of a pod. */
const patienceMs = 300_000;
const lookEveryMs = 1000;

export const detachWithPods = (names: string[], options: DetachPodsOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const { terminal } = session;
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    const which = nodes.length === 1 ? nodes[0]!.name : `${nodes.length} nodes, one after the other`;
    const question = `Return ${which} to the local config and remove relet's files, with a pod on the host?`;
    if (!(await confirm(session, question, options.yes))) {
      process.exitCode = 1;
      return terminal.print('Nothing was changed.');
    }
    const daemonSet = (await daemonSetOf(session)) ?? readDaemonSet();
    for (const { name } of nodes) {
      const { kubeletFlags } = await session.references.reportedLocal(name, { signal: session.signal });
      await detachNode(session, detachPod(daemonSet, { node: name, ...options, flags: reportedFlags(kubeletFlags) }));
      terminal.print(`${name}: detached`);
    }
  });

const daemonSets: ResourceType = { group: 'apps', version: 'v1', resource: 'daemonsets' };

/** Undefined where it was deleted, or may not be read. */
async function daemonSetOf({ client, signal }: Session): Promise<DaemonSet | undefined> {
  try {
    return await client.get<DaemonSet>(daemonSets, { namespace: configNamespace, name: 'relet-agent' }, { signal });
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

function readDaemonSet(): DaemonSet {
  const manifest = readFileSync(join(dirname(reletExecutable()), '..', 'deploy/agent/agent.yaml'), 'utf8');
  const documents = manifest.split(/^---$/m).map((text) => readPlain(text) as DaemonSet);
  return documents.find(({ kind }) => kind === 'DaemonSet')!;
}

/** A node writes them: anything else than a list of flags is ignored. */
function reportedFlags(value: unknown): Map<string, string> {
  const flags = Array.isArray(value) ? (value as Partial<KubeletFlag>[]) : [];
  return new Map(
    flags.flatMap(({ name, value: path }) =>
      typeof name === 'string' && typeof path === 'string' && isAbsolute(path) ? [[name, path]] : [],
    ),
  );
}

/** Pure. `flags` are those of the node's kubelet that have a path, by name. */
export function detachPod(
  daemonSet: DaemonSet,
  { node, image, unit, flags }: { node: string; image: string; unit?: string; flags: ReadonlyMap<string, string> },
): Pod {
  const spec = daemonSet.spec.template.spec;
  const [{ ports: _ports, ...agent }] = spec.containers as [Container];
  const ofAgent = agent.args.find((arg) => arg.startsWith('--unit='));
  const { volumes, volumeMounts } = hostVolumes(spec.volumes, agent.volumeMounts, flags);
  const container = {
    ...agent,
    name: 'detach',
    image,
    args: ['detach', '--host', unit === undefined && ofAgent ? ofAgent : `--unit=${unit ?? 'kubelet.service'}`],
    volumeMounts,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const { priorityClassName, tolerations, hostNetwork, securityContext, imagePullSecrets } = spec;
  const kept = { priorityClassName, tolerations, hostNetwork, securityContext, imagePullSecrets };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `relet-detach-${node}`.slice(0, 253), labels: { 'app.kubernetes.io/name': 'relet' } },
    // The agent's account went with it, and its node selector is not that of this node.
    spec: {
      ...kept,
      automountServiceAccountToken: false,
      nodeName: node,
      restartPolicy: 'Never',
      containers: [container],
      volumes,
    },
  };
}

/**
 * Mounts of host paths, and /tmp. The node's own kubeconfig, config and --config-dir count where they are known: a pod with a path that
 * the host does not have would not start.
 */
function hostVolumes(
  all: readonly Volume[],
  mounts: Container['volumeMounts'],
  flags: ReadonlyMap<string, string>,
): Pick<PodSpec, 'volumes'> & Pick<Container, 'volumeMounts'> {
  const volumes = all.filter(
    ({ name, hostPath, emptyDir }) => emptyDir ?? (hostPath && !(name === 'kubeconfig' && flags.has(name))),
  );
  const volumeMounts = mounts.filter(({ name }) => volumes.some((volume) => volume.name === name));
  const types = { kubeconfig: 'File', config: 'File', 'config-dir': 'Directory' };
  for (const [flag, type] of Object.entries(types)) {
    const path = flags.get(flag);
    if (path === undefined || volumeMounts.some(({ mountPath }) => `${path}/`.startsWith(`${mountPath}/`))) continue;
    volumes.push({ name: flag, hostPath: { path, type } });
    volumeMounts.push({ name: flag, mountPath: path, readOnly: true });
  }
  return { volumes, volumeMounts };
}

async function detachNode({ client, namespace, signal }: Session, pod: Pod): Promise<void> {
  const place = { namespace, name: pod.metadata.name };
  await client.create(pods, { namespace }, pod, { signal });
  try {
    const deadline = systemClock.monotonic() + patienceMs;
    for (;;) {
      const { status = {} } = await client.get<Pod>(pods, place, { signal });
      if (status.phase === 'Succeeded') return;
      if (status.phase === 'Failed' || systemClock.monotonic() > deadline) throw new CannotRun(failure(pod, status));
      await systemClock.sleep(lookEveryMs, signal);
    }
  } finally {
    await client.delete(pods, place).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
  }
}

function failure(
  { metadata, spec }: Pod,
  { phase = 'Pending', message, containerStatuses = [] }: Pod['status'] & object,
): string {
  const { terminated, waiting } = containerStatuses[0]?.state ?? {};
  const why = terminated?.message ?? waiting?.message ?? waiting?.reason ?? message ?? 'it gave no reason';
  return `${spec.nodeName} is not detached: pod ${metadata.name} is ${phase}: ${oneLine(why.trim())}`;
}
