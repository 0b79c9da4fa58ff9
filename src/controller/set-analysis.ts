/** The controller's side of an analysis: writes the requests to the nodes and queries Prometheus. plan() decides. */

import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { observeAnnotation, observeText } from '../api/observe.js';
import { isConflict, isNotFound } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import type { Log } from '../log.js';
import { idOf, type Measured, requestOf } from '../rollout/analysis/analysis.js';
import type { SetMember } from '../rollout/members.js';
import { list } from '../rollout/sentences.js';
import type { SetRules } from '../rollout/spec.js';
import type { SetState } from '../rollout/state.js';
import { inTurn } from './drain/assessment.js';
import type { QueryNodes } from './prometheus.js';
import type { KnownSet } from './set-memory.js';

export interface SetAnalysisOptions {
  client: KubeClient;
  /** Undefined without --prometheus-url. */
  queryNodes?: QueryNodes | undefined;
  log: Log;
  signal: AbortSignal;
}

/** How soon a query that failed is sent again. */
const retryMs = 15_000;

/** Writes the request to the nodes of the cohort that do not have it yet. A failed write is retried in the next pass. */
export async function askNodes(
  { client, log, signal }: SetAnalysisOptions,
  set: string,
  { state, members, known }: { state: SetState; members: readonly SetMember[]; known: KnownSet },
): Promise<number> {
  const request = requestOf(set, state, client.clock.now());
  if (request === undefined) return 0;
  const { names, ...observe } = request;
  const text = observeText(observe);
  const cohort = new Set(names);
  const open = members.filter(
    ({ node, object }) =>
      cohort.has(node.name) && object !== undefined && object.metadata.annotations?.[observeAnnotation] !== text,
  );
  await inTurn(open, async ({ node: { name }, object }) => {
    const { resourceVersion } = object!.metadata;
    const patch = { metadata: { resourceVersion, annotations: { [observeAnnotation]: text } } };
    const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
    try {
      known.writes.add('nodeConfigs', await client.patch<NodeConfig>(nodeConfigs, { name }, patch, options));
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  });
  if (open.length > 0) log.info('nodes asked for an analysis', { set, id: request.id, nodes: open.length });
  return open.length;
}

/**
 * Values of the queries of the analysis whose time is over; undefined if there are none to ask for. They are cached by request: a
 * restart asks again, and the history of Prometheus gives the same.
 */
export async function measure(
  { client, queryNodes, log, signal }: SetAnalysisOptions,
  set: string,
  { state, rules, known }: { state: SetState; rules: SetRules; known: KnownSet },
): Promise<Measured | undefined> {
  const queries = rules.analysis?.signals.filter(({ prometheus }) => prometheus !== undefined) ?? [];
  const record = state.analyses?.find((one) => one.state === 'Observing' && one.revision === state.updateRevision);
  const nowMs = client.clock.now();
  if (queries.length === 0 || record?.before === undefined || record.after === undefined) return undefined;
  if (nowMs < Date.parse(record.after[1])) return undefined;
  const id = idOf(set, record);
  const { measured, untilMs } = known.measured;
  if (measured?.id === id && (nowMs < untilMs || Object.keys(measured.errors).length === 0)) return measured;
  const found: Measured = { id, values: {}, errors: {} };
  for (const { name, prometheus } of queries)
    try {
      if (queryNodes === undefined) throw new Error('the controller has no --prometheus-url');
      const [before, after] = await Promise.all(
        [record.before[1], record.after[1]].map((time) => queryNodes({ ...prometheus!, time }, signal)),
      );
      const values: Measured['values'][string] = {};
      for (const [node, value] of after!) {
        const earlier = before!.get(node);
        if (earlier !== undefined) values[node] = [earlier, value];
      }
      const missing = [...(record.canaries ?? []), ...(record.controls ?? [])].filter(
        (node) => values[node] === undefined,
      );
      found.values[name] = values;
      if (missing.length > 0) found.errors[name] = `query '${prometheus!.query}' has no value for ${list(missing)}`;
    } catch (error) {
      if (signal.aborted) throw error;
      found.errors[name] = (error as Error).message;
      log.info('query of an analysis failed', { set, signal: name, error });
    }
  known.measured = { measured: found, untilMs: nowMs + retryMs };
  return found;
}
