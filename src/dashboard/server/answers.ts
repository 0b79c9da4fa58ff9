/**
 * The queries that decode, write or compare content of a node or an author, by name. Each runs in a child process (children.ts) with
 * the user's credential.
 */
import { findConfigMap } from '../../fleet/config-maps.js';
import type { ConfigReferences } from '../../fleet/configured-node.js';
import type { May } from '../wire.js';
import { payloadDiff } from './config-diff.js';
import { configDocuments } from './configs-page.js';
import { auditAnswer, inventoryAnswer } from './fleet-reading.js';
import { asJson } from './http.js';
import { nodeDetails, nodeDiff } from './node-page.js';
import { problemOf } from './problem.js';
import type { Reader } from './reader.js';
import { setDetails } from './set-page.js';
import { writeSet } from './write-set.js';

export const answers = {
  node: (reader: Reader, { name }: { name: string }) => nodeDetails(reader, name),
  nodeDiff: (reader: Reader, { name, from, to }: { name: string; from: string; to: string }) =>
    nodeDiff(reader, name, { from, to }),
  configDiff: diffConfigs,
  configDocuments: (reader: Reader, place: { namespace: string; name: string }) => configDocuments(reader, place),
  set: (reader: Reader, { name }: { name: string }) => setDetails(reader, name),
  inventory: inventoryAnswer,
  audit: auditAnswer,
  writeSet: (reader: Reader, { body }: { body: Record<string, unknown> }) => writeSet(reader, body),
};

export type AnswerName = keyof typeof answers;
export type AnswerArguments<Name extends AnswerName> = Parameters<(typeof answers)[Name]>[1];

/** From the server to the child. */
export interface Question {
  name: AnswerName;
  arguments: AnswerArguments<AnswerName>;
  mode: ConfigReferences['kind'];
  may: May;
}

/**
 * From the child to the server: a status code, and on the next line the answer or the problem as JSON. The server passes an answer on as
 * it is: one of 40,000 changes has 10 MB. Throws for what nobody expected.
 */
export async function reply(reader: Reader, question: Pick<Question, 'name' | 'arguments'>): Promise<string> {
  try {
    const compute = answers[question.name] as (reader: Reader, given: unknown) => Promise<unknown>;
    return `200\n${escaped(asJson(await compute(reader, question.arguments)))}`;
  } catch (error) {
    const known = problemOf(error);
    if (known === undefined) throw error;
    return `${known.status}\n${escaped(asJson(known.problem))}`;
  }
}

/** Control characters that JSON may have as they are, and that no output of relet has. */
const escaped = (json: string): string =>
  json.replace(/[\x7f-\x9f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);

/** Without a status: it was not written to its end, or not by reply(). */
export function readReply(printed: string): { status?: number; text: string } {
  const [, status] = /^(\d{3})\n/.exec(printed) ?? [];
  return status === undefined ? { text: '' } : { status: Number(status), text: printed.slice(4) };
}

/** `a` and `b`: NAMESPACE/NAME of a ConfigMap, with /KEY where it has several. */
async function diffConfigs(
  { client, signal }: Reader,
  { a, b, kubelet }: { a: string; b: string; kubelet?: string | undefined },
) {
  const read = async (word: string) => {
    const [namespace = '', name = '', key] = word.split('/');
    const cluster = { client, signal, namespace };
    return { name: word, text: (await findConfigMap(cluster, `${namespace}/${name}`, key)).text };
  };
  const [before, after] = await Promise.all([read(a), read(b)]);
  return payloadDiff(before, after, kubelet);
}
