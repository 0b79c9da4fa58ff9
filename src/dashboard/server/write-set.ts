/**
 * Writes a set with the user's credential. Creates a new one, or replaces the whole spec of an existing one unless it has changed
 * meanwhile.
 */
import { checkDnsSubdomain } from '../../api/names.js';
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import { isAlreadyExists, isInvalid, isNotFound } from '../../api/status.js';
import { DocumentError } from '../../config/document.js';
import { readPlain } from '../../config/plain-document.js';
import { isObject } from '../../json.js';
import type { KubeClient } from '../../kube/client.js';
import type { ActionResult, SetBase } from '../wire.js';
import { badRequest, RequestProblem } from './problem.js';

type Body = Record<string, unknown>;
interface Cluster {
  client: KubeClient;
  signal: AbortSignal;
}

export async function writeSet(cluster: Cluster, body: Body): Promise<ActionResult> {
  const set = readSet(manifestIn(body));
  const base = baseIn(body);
  const { name } = set.metadata;
  if (base !== undefined && base.name !== name) throw badRequest("'base' must be of the set in the manifest.");
  const dryRun = body.dryRun === true;
  await (base === undefined ? createSet(cluster, set, dryRun) : replaceSpec(cluster, { set, base, dryRun }));
  const command = base === undefined ? `kubectl create -f ${name}.yaml` : `kubectl edit nodeconfigset ${name}`;
  return { command, code: 0, output: dryRun ? `${name} is valid` : `${name} ${base ? 'changed' : 'created'}` };
}

export function manifestIn({ yaml }: Body): string {
  if (typeof yaml !== 'string' || yaml.trim() === '')
    throw badRequest("'yaml' must be the manifest of a NodeConfigSet.");
  return yaml;
}

/** Undefined: the set is new. */
export function baseIn({ base }: Body): SetBase | undefined {
  if (base === undefined) return undefined;
  if (!isObject(base) || typeof base.uid !== 'string' || !Number.isSafeInteger(base.generation))
    throw badRequest("'base' must have name, uid and generation of a set.");
  return { name: checkedName(base.name), uid: base.uid, generation: base.generation as number };
}

/** Throws if the set is not the one that the draft was made from any more. */
export async function checkBase({ client, signal }: Cluster, base: SetBase): Promise<void> {
  const { name, uid, generation } = base;
  const found = await client.get<NodeConfigSet>(nodeConfigSets, { name }, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (found?.metadata.uid === uid && found.metadata.generation === generation) return;
  const isGone = found?.metadata.uid !== uid;
  throw new RequestProblem(409, {
    reason: 'SetChanged',
    message: isGone
      ? `The set ${name} was deleted${found ? ' and created again' : ''} after this draft was opened.`
      : `The set ${name} was changed after this draft was opened${lastWriter(found)}: generation ${generation} is ${found.metadata.generation} now.`,
    remedy: found
      ? 'Your draft is kept, and nothing was written. Copy its YAML, open Edit on the page of the set again, and repeat your change there.'
      : 'Your draft is kept, and nothing was written. Give it another name to create a new set, or discard it.',
  });
}

/** `, last by kubectl-edit at 2026-01-01T00:00:00Z`. */
function lastWriter({ metadata: { managedFields = [] } }: NodeConfigSet): string {
  const writers = managedFields as { manager?: string; time?: string; fieldsV1?: object }[];
  const [last] = writers
    .filter(({ fieldsV1 = {} }) => 'f:spec' in fieldsV1)
    .sort((a, b) => Date.parse(b.time ?? '') - Date.parse(a.time ?? ''));
  return last?.manager && last.time ? `, last by ${last.manager} at ${last.time}` : '';
}

const writing = { fieldManager: 'relet-dashboard', fieldValidation: 'Strict' } as const;

async function createSet({ client, signal }: Cluster, set: NodeConfigSet, dryRun: boolean): Promise<void> {
  try {
    await client.create(nodeConfigSets, {}, set, { ...writing, dryRun, signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new RequestProblem(409, {
      reason: 'AlreadyExists',
      message: `There is a set ${set.metadata.name} already.`,
      remedy: 'Choose another name; to change that set, open Edit on its page.',
    });
  }
}

/** A patch and not an update: the status that the controller writes meanwhile is not in its way. */
async function replaceSpec(
  cluster: Cluster,
  { set, base, dryRun }: { set: NodeConfigSet; base: SetBase; dryRun: boolean },
): Promise<void> {
  const { client, signal } = cluster;
  const patch = [
    { op: 'test', path: '/metadata/uid', value: base.uid },
    { op: 'test', path: '/metadata/generation', value: base.generation },
    { op: 'replace', path: '/spec', value: set.spec },
  ];
  try {
    await client.patch(nodeConfigSets, { name: base.name }, patch, { ...writing, as: 'json', dryRun, signal });
  } catch (error) {
    // A test that fails and a spec that is not valid have the same status code.
    if (isNotFound(error) || isInvalid(error)) await checkBase(cluster, base);
    throw error;
  }
}

function readSet(yaml: string): NodeConfigSet {
  const set = readManifest(yaml);
  if (!isObject(set) || set.kind !== 'NodeConfigSet' || !isObject(set.metadata) || !isObject(set.spec))
    throw badRequest('The manifest must be one NodeConfigSet.');
  checkedName(set.metadata.name);
  const { status: _, ...object } = set;
  return object as unknown as NodeConfigSet;
}

function readManifest(yaml: string): unknown {
  try {
    return readPlain(yaml);
  } catch (error) {
    if (error instanceof DocumentError) throw badRequest(`The manifest is not valid YAML: ${error.message}`);
    throw error;
  }
}

function checkedName(name: unknown): string {
  if (typeof name !== 'string' || checkDnsSubdomain(name).length > 0)
    throw badRequest('This cannot be the name of a set.');
  return name;
}
