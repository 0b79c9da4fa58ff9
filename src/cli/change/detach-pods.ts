/**
 * `relet detach --image`: removes relet from hosts without a running agent, with one pod per node, one after the other. The pod has the
 * mounts and permissions of the agent, runs `relet detach --host`, and ends.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KubeObject } from '../../api/object.js';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { readPlain } from '../../config/plain-document.js';
import { pods } from '../../kube/resource-type.js';
import { oneLine } from '../../visible-text.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { type Session, selectNodes, withSession } from '../session.js';
import { terminalFor } from '../terminal/terminal.js';
import type { AssignOptions } from './assign.js';
import { confirm } from './change-to.js';

export interface DetachPodsOptions extends AssignOptions {
  image: string;
  unit: string;
}

interface Container {
  name: string;
  image: string;
  args: string[];
  [field: string]: unknown;
}

interface Pod extends KubeObject {
  spec: { containers: Container[]; [field: string]: unknown };
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
  withSession(
    options,
    async (session) => {
      const { terminal } = session;
      const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
      const which = nodes.length === 1 ? nodes[0]!.name : `${nodes.length} nodes, one after the other`;
      const question = `Return ${which} to the local config and remove relet's files, with a pod on the host?`;
      if (!(await confirm(session, question, options.yes))) {
        process.exitCode = 1;
        return terminal.print('Nothing was changed.');
      }
      const manifest = readFileSync(join(dirname(reletExecutable()), '..', 'deploy/agent/agent.yaml'), 'utf8');
      for (const { name } of nodes) {
        await detachNode(session, detachPod(manifest, { node: name, ...options }));
        terminal.print(`${name}: detached`);
      }
    },
    terminalFor(options),
  );

/** From the agent's DaemonSet. Pure. */
export function detachPod(manifest: string, { node, image, unit }: { node: string; image: string; unit: string }): Pod {
  const documents = manifest.split(/^---$/m).map((text) => readPlain(text) as KubeObject & { spec?: object });
  const daemonSet = documents.find(({ kind }) => kind === 'DaemonSet') as { spec: { template: { spec: Pod['spec'] } } };
  // Its account went with the agent.
  const { serviceAccountName: _account, containers, ...spec } = daemonSet.spec.template.spec;
  const { ports: _ports, ...agent } = containers[0]!;
  const container = {
    ...agent,
    name: 'detach',
    image,
    args: ['detach', '--host', `--unit=${unit}`],
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `relet-detach-${node}`.slice(0, 253), labels: { 'app.kubernetes.io/name': 'relet' } },
    spec: { ...spec, nodeName: node, restartPolicy: 'Never', containers: [container] },
  };
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
