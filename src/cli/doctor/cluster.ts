/** Checks of `relet doctor` about the API server and the user: version, whether references are kept, guards, clock, permissions. */
import {
  configNamespace,
  guardsLease,
  type NodeConfig,
  type NodeConfigCondition,
  nodeConfigs,
} from '../../api/node-config.js';
import type { KubeObject } from '../../api/object.js';
import { ApiError, isNotFound } from '../../api/status.js';
import { parseMinor } from '../../config/model.js';
import { serverVersion } from '../../kube/client.js';
import { leases, nodes, resourcePath, selfSubjectAccessReviews } from '../../kube/resource-type.js';
import type { Session } from '../session.js';
import { ageOf } from '../terminal/output.js';
import type { Diagnosis } from './diagnosis.js';

export async function checkServer(session: Session): Promise<Diagnosis[]> {
  const { client, references, signal } = session;
  const { gitVersion } = await serverVersion(client, { signal });
  const found: Diagnosis[] = [{ level: 'ok', what: `API server ${client.connection.server} is version ${gitVersion}` }];
  if (references.kind === 'NodeConfig') {
    found.push({ level: 'ok', what: 'references are NodeConfigs (relet.dev/v1alpha1)' }, await checkGuards(session));
    const droppedByNodes = await checkKept(session, parseMinor(gitVersion));
    if (droppedByNodes.level === 'error')
      found.push({
        level: 'ok',
        what: "the server drops spec.configSource of Nodes: 'kubectl patch node' answers as if it had worked and does nothing; patch the NodeConfig",
      });
    return found;
  }
  found.push(await checkKept(session, parseMinor(gitVersion)));
  found.push({
    level: 'ok',
    what: 'guards: the server itself keeps nodes from changing their own reference (NodeRestriction)',
  });
  return found;
}

/** A dry run of an assignment shows whether the server keeps it; nothing else does. */
async function checkKept({ client, signal }: Session, minor: number | undefined): Promise<Diagnosis> {
  const unknown = (why: string): Diagnosis => ({
    level: 'unknown',
    what: `whether the server keeps spec.configSource: ${why}`,
  });
  const [node] = (await firstNode(client, signal)) ?? [];
  if (node === undefined) return unknown('there is no node to try it with');
  const configMap = { namespace: configNamespace, name: 'relet-doctor', kubeletConfigKey: 'kubelet' };
  try {
    const answer = await client.patch<KubeObject>(
      nodes,
      { name: node.metadata.name },
      { spec: { configSource: { configMap } } },
      { as: 'merge', dryRun: true, signal },
    );
    const kept = (answer.spec as { configSource?: unknown } | undefined)?.configSource !== undefined;
    if (kept) return { level: 'ok', what: 'the server keeps spec.configSource of Nodes' };
    return {
      level: 'error',
      what: `the server drops spec.configSource of Nodes silently${minor !== undefined && minor >= 22 ? ', as servers do from 1.22 on' : ''}`,
      remedy:
        "use NodeConfig: 'kubectl apply -k deploy/' or the Helm charts install it (docs/install.md); 'kubectl patch node' answers as if it had worked, and does nothing",
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return unknown(error.message);
  }
}

async function firstNode(client: Session['client'], signal: AbortSignal): Promise<KubeObject[] | undefined> {
  for await (const { items } of client.pages(nodes, { limit: 1, signal })) return items;
  return undefined;
}

/** The controller writes into every NodeConfig which guards are in force, and into a Lease when it last checked that. */
async function checkGuards({ client, signal }: Session): Promise<Diagnosis> {
  for await (const { items } of client.pages<NodeConfig>(nodeConfigs, { limit: 1, signal })) {
    if (items.length === 0) break;
    const place = { namespace: configNamespace, name: guardsLease };
    const { headers, text } = await client
      .raw({ method: 'GET', path: resourcePath(leases, place), signal })
      .catch((error: unknown) => {
        if (isNotFound(error)) return { headers: {} as { date?: string }, text: '{}' };
        throw error;
      });
    const { spec = {} } = JSON.parse(text) as { spec?: GuardsCheck };
    const nowMs = Date.parse(headers.date ?? '');
    const guarded = items[0]?.status?.conditions?.find(({ type }) => type === 'Guarded');
    return guardsDiagnosis(guarded, spec, Number.isNaN(nowMs) ? Date.now() : nowMs);
  }
  return { level: 'unknown', what: 'guards: there is no NodeConfig that shows which are in force' };
}

interface GuardsCheck {
  renewTime?: string;
  leaseDurationSeconds?: number;
}

/** `nowMs`: by the server's clock. */
export function guardsDiagnosis(
  guarded: NodeConfigCondition | undefined,
  { renewTime, leaseDurationSeconds = 0 }: GuardsCheck,
  nowMs: number,
): Diagnosis {
  const remedy = "check that the controller runs: 'kubectl -n relet-system get pods', or 'relet controller' by hand";
  if (guarded === undefined)
    return { level: 'warning', what: 'guards: the controller has not reported which are in force', remedy };
  const checkedMs = Date.parse(renewTime ?? '');
  const seconds = Math.max(0, Math.round((nowMs - checkedMs) / 1000));
  // NaN is not in time either.
  if (!(seconds <= leaseDurationSeconds)) {
    const when = renewTime === undefined ? 'never checked' : `last checked ${ageOf(renewTime, nowMs)} ago`;
    return { level: 'error', what: `guards: ${when}, so nobody knows whether they are in force`, remedy };
  }
  if (guarded.status === 'True')
    return { level: 'ok', what: `guards: ${guarded.message}, ${seconds}s ago (${guarded.reason})` };
  return {
    level: 'error',
    what: `guards: ${guarded.message}`,
    remedy: "'kubectl apply -k deploy/' or 'helm upgrade' puts them back",
  };
}

const tolerableSkewMs = 5000;

export async function checkClock({ client, signal }: Session): Promise<Diagnosis[]> {
  const { headers } = await client.raw({ method: 'GET', path: '/version', signal });
  const server = Date.parse(headers.date ?? '');
  if (Number.isNaN(server)) return [{ level: 'unknown', what: 'the server does not tell its time' }];
  const skew = Math.round((Date.now() - server) / 1000);
  if (Math.abs(skew) * 1000 <= tolerableSkewMs)
    return [{ level: 'ok', what: 'the clocks of this machine and of the server agree' }];
  return [
    {
      level: 'warning',
      what: `the clock of this machine is ${Math.abs(skew)}s ${skew > 0 ? 'ahead of' : 'behind'} the server's`,
      remedy:
        'set it with NTP: certificates and tokens are refused when clocks differ too much, and ages shown here are wrong',
    },
  ];
}

interface Right {
  verb: string;
  group?: string;
  resource: string;
  namespaced?: boolean;
  /** Function that does not work without it. */
  needed: string;
}

const rights: Right[] = [
  { verb: 'list', resource: 'nodes', needed: 'get, doctor, gc and every --selector' },
  { verb: 'watch', resource: 'nodes', needed: 'waiting for a change' },
  { verb: 'list', resource: 'pods', needed: 'naming the pods that a change affects' },
  { verb: 'get', resource: 'configmaps', namespaced: true, needed: 'reading configs' },
  { verb: 'create', resource: 'configmaps', namespaced: true, needed: 'edit, set and push' },
  { verb: 'delete', resource: 'configmaps', namespaced: true, needed: 'gc' },
  { verb: 'list', resource: 'events', needed: 'telling the reasons behind a refusal' },
];

/** The right to write the reference, wherever it is; the guards ask for `assign` as well. */
function referenceRights(kind: 'Node' | 'NodeConfig'): Right[] {
  const needed = 'assigning a config to a node';
  if (kind === 'Node') return [{ verb: 'patch', resource: 'nodes', needed }];
  const verbs = ['list', 'watch', 'patch', 'assign'];
  return verbs.map((verb) => ({ verb, group: 'relet.dev', resource: 'nodeconfigs', needed }));
}

export async function checkCaller(session: Session): Promise<Diagnosis[]> {
  const { client, signal, namespace, references } = session;
  const missing: Right[] = [];
  for (const right of [...rights, ...referenceRights(references.kind)]) {
    const resourceAttributes = {
      verb: right.verb,
      ...(right.group && { group: right.group }),
      resource: right.resource,
      ...(right.namespaced && { namespace }),
      ...(right.resource === 'events' && { namespace: 'default' }),
    };
    const answer = await client.create<KubeObject>(
      selfSubjectAccessReviews,
      {},
      { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      { signal },
    );
    if ((answer.status as { allowed?: boolean } | undefined)?.allowed !== true) missing.push(right);
  }
  if (missing.length === 0)
    return [{ level: 'ok', what: `you may do all that relet does (ConfigMaps in ${namespace})` }];
  return missing.map(({ verb, resource, needed, namespaced }) => ({
    level: 'warning',
    what: `you may not ${verb} ${resource}${namespaced ? ` in ${namespace}` : ''}: ${needed} will be refused`,
    remedy: 'ask an administrator for a role that allows it, or choose another user with --context or --as',
  }));
}
