/** Reads the sets that a verb names, with errors for a set or a cluster that does not have it. */
import { checkDnsSubdomain } from '../../api/names.js';
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { serves } from '../../kube/client.js';
import type { ConnectionOptions } from '../command-line.js';
import { type Session, withResultSession } from '../session.js';

/** From a word of the command line, `gpu` or `nodeconfigset/gpu`. */
export function setName(word: string): string {
  const name = word.replace(/^(nodeconfigsets?(\.relet\.dev)?|ncs)\//, '');
  if (checkDnsSubdomain(name).length === 0) return name;
  throw new CannotRun(`'${word}' cannot be the name of a set; 'relet rollout status' lists them`);
}

/** Works on the set that a word of the command line names. */
export const withSet = (
  word: string,
  options: ConnectionOptions & { output?: string | undefined },
  work: (session: Session, set: NodeConfigSet) => Promise<void>,
): Promise<void> => withResultSession(options, async (session) => work(session, await readSet(session, setName(word))));

export async function readSet(session: Session, name: string): Promise<NodeConfigSet> {
  const found = await findSet(session, name);
  if (found !== undefined) return found;
  throw new CannotRun(`there is no set '${name}'; 'relet rollout status' lists them`);
}

/** Undefined if there is no set of that name. Throws if the cluster cannot have one. */
export async function findSet(session: Session, name: string): Promise<NodeConfigSet | undefined> {
  const { client, signal } = session;
  try {
    return await client.get<NodeConfigSet>(nodeConfigSets, { name }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await rejectWithoutSets(session);
    return undefined;
  }
}

export async function listSets(session: Session): Promise<NodeConfigSet[]> {
  const { client, signal } = session;
  try {
    return (await client.list<NodeConfigSet>(nodeConfigSets, { signal })).items;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await rejectWithoutSets(session);
    return [];
  }
}

async function rejectWithoutSets({ client, signal }: Session): Promise<void> {
  if (await serves(client, nodeConfigSets, { signal })) return;
  throw new CannotRun(
    "the cluster has no NodeConfigSets: they need Kubernetes 1.22 or later, and 'kubectl apply -k deploy/' or the Helm charts install them (docs/install.md)",
  );
}
