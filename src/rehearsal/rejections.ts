/**
 * Finds the nodes that would reject the config, and why: runs the agent's validation once for each kind of node, so that all of them
 * are named although the rollout stops at the first.
 */
import { type Checkpoint, sha256 } from '../agent/state/checkpoints.js';
import { makeDocument } from '../agent/validate/host-validator.js';
import type { Fleet } from './fleet.js';
import { localPath, simulatedValidator } from './simulation/host-validator.js';

export interface NodeRejection {
  /** By name. */
  nodes: string[];
  kubeletVersion: string;
  reason: string;
  message: string;
}

/** Nodes with the same kubelet and the same message are one entry; the largest comes first. `isWritten`: a person wrote the payload. */
export async function findRejections(
  { nodes }: Fleet,
  payload: string,
  { isWritten }: { isWritten: boolean },
): Promise<NodeRejection[]> {
  const answers = new Map<string, Promise<Pick<NodeRejection, 'reason' | 'message'> | undefined>>();
  const found = new Map<string, NodeRejection>();
  for (const node of nodes) {
    const { name, kubeletVersion, local, host } = node;
    const key = JSON.stringify([kubeletVersion, local, host]);
    const asked = answers.get(key) ?? ask(node, payload, isWritten);
    answers.set(key, asked);
    const answer = await asked;
    if (answer === undefined) continue;
    const id = JSON.stringify([kubeletVersion, answer]);
    const known = found.get(id);
    if (known === undefined) found.set(id, { nodes: [name], kubeletVersion, ...answer });
    else known.nodes.push(name);
  }
  return [...found.values()].sort((a, b) => b.nodes.length - a.nodes.length);
}

/** Removes line numbers: a payload that is generated from the set has no lines that a person knows. */
const withoutPlace = (message: string): string => message.replace(/\/payload:\d+:\d+: |, line \d+/g, '');

async function ask({ kubeletVersion, local, host }: Fleet['nodes'][number], payload: string, isWritten: boolean) {
  const textOf = ({ message }: Error) => (isWritten ? message : withoutPlace(message));
  const file = '/payload';
  const ingredients = {
    text: payload,
    file,
    kubeletVersion,
    local: [{ path: localPath, data: Buffer.from(local) }],
  };
  const validator = simulatedValidator(
    () => local,
    new Map(),
    async () => {},
    host,
  );
  try {
    const made = makeDocument(ingredients);
    const text = made.kind === 'as is' ? payload : made.text;
    const digest = sha256(text);
    const document = { file, text, digest, ...(made.kind === 'merged' && { mergedDigest: digest }) };
    const checkpoint = { config: Buffer.from(payload), configFile: file, digest, annotations: {} } as Checkpoint;
    const { signal } = new AbortController();
    const result = await validator.validate({ checkpoint, document, kubeletVersion }, { steps: 'all', signal });
    return result.kind === 'rejected' ? { reason: result.reason, message: textOf(result.cause) } : undefined;
  } catch (error) {
    // An overlay that cannot be merged.
    return { reason: 'ParseFailed', message: textOf(error as Error) };
  }
}
