/**
 * Queries Prometheus for analyses: one instant query per signal and time, which returns one value per node.
 *
 *   GET URL/api/v1/query?query=…&time=…
 *   {"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"},"value":[t,"3"]}]}}
 */
import { isObject, parseObject } from '../json.js';
import { list } from '../rollout/sentences.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';
import { type OutboundOptions, outbound } from './outbound.js';

export interface NodeQuery {
  query: string;
  /** The label of the result that names the node. */
  label: string;
  /** RFC 3339. */
  time: string;
}

/** Values by node; rejects with an error that names the query. */
export type QueryNodes = (query: NodeQuery, signal: AbortSignal) => Promise<Map<string, number>>;

export function prometheusQueries(options: Omit<OutboundOptions, 'flag'>): QueryNodes {
  const get = outbound({ ...options, flag: 'prometheus' });
  return async (query, signal) => {
    const path = `/api/v1/query?${new URLSearchParams({ query: query.query, time: query.time })}`;
    try {
      const { status, text } = await get({ method: 'GET', path, headers: { accept: 'application/json' } }, signal);
      return valuesOf(status, text, query.label);
    } catch (error) {
      throw new Error(`query '${shorten(query.query, 200)}' at ${query.time}: ${(error as Error).message}`);
    }
  };
}

/** Values by node, from the text of an answer. */
export function valuesOf(status: number, text: string, label: string): Map<string, number> {
  const answer = parseObject(text);
  if (status !== 200 || answer?.status !== 'success') {
    const error = typeof answer?.error === 'string' ? `: ${oneLine(shorten(answer.error, 300))}` : '';
    throw new Error(`Prometheus answered ${status}${error}`);
  }
  const { resultType, result } = isObject(answer.data) ? answer.data : {};
  if (resultType !== 'vector' || !Array.isArray(result))
    throw new Error(`the answer is not a vector with one value a node, but ${oneLine(String(resultType))}`);
  const values = new Map<string, number>();
  const twice = new Set<string>();
  for (const one of result) {
    const node = isObject(one) && isObject(one.metric) ? one.metric[label] : undefined;
    const value = isObject(one) && Array.isArray(one.value) ? Number(one.value[1]) : Number.NaN;
    if (typeof node !== 'string') throw new Error(`a value has no label '${label}', which must name the node`);
    if (values.has(node)) twice.add(oneLine(node));
    // A NaN, such as 0/0 without requests, has no value.
    if (Number.isFinite(value) && value >= 0) values.set(node, value);
  }
  if (twice.size > 0) throw new Error(`more than one value for ${list([...twice])}; aggregate with 'by (${label})'`);
  return values;
}
