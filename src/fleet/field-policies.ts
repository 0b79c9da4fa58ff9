/** Evaluates the FieldPolicies of the cluster: which of them a config violates, and on which nodes. */
import { type FieldPolicy, fieldPolicies } from '../api/field-policy.js';
import { type LabelSelectorObject, selectsLabels } from '../api/label-selector.js';
import type { KubeObject } from '../api/object.js';
import { isForbidden, isNotFound } from '../api/status.js';
import { checkPolicy } from '../config/check-policy.js';
import type { LocalFile } from '../config/merge.js';
import type { Minor } from '../config/model.js';
import { fieldPolicyFrom } from '../config/read-field-policy.js';
import type { KubeClient } from '../kube/client.js';
import { oneLine } from '../visible-text.js';

/** The properties of a node that policies depend on. */
export interface PolicedNode {
  name: string;
  labels: Record<string, string>;
  minor: Minor;
  /** Files of its local config, and its kubelet's arguments; undefined if they are not reported. */
  localFiles: readonly LocalFile[] | undefined;
  flags: readonly string[] | undefined;
}

export interface PolicyRejection {
  policy: string;
  /** Empty if the policy itself cannot be read. */
  field: string;
  /** A sentence that names the values, without a period. */
  message: string;
  nodes: string[];
}

/** Objects of the cluster, as listed. Returns what their policies do not allow in this payload, each field of each policy once. */
export function policyRejections(
  objects: readonly KubeObject[],
  text: string,
  nodes: readonly PolicedNode[],
): PolicyRejection[] {
  const found = new Map<string, PolicyRejection>();
  const add = (one: Omit<PolicyRejection, 'nodes'>, about: readonly PolicedNode[]) => {
    const key = JSON.stringify([one.policy, one.message]);
    const before = found.get(key)?.nodes ?? [];
    found.set(key, { ...one, nodes: before.concat(about.map(({ name }) => name)) });
  };
  for (const object of objects) {
    const policy = object.metadata.name;
    const read = readPolicy(object);
    // An invalid selector may be for any node, so the policy counts for all.
    if (typeof read === 'string') add({ policy, field: '', message: read }, nodes);
    else
      for (const alike of groupsOf(nodes.filter(({ labels }) => selectsLabels(read.selector ?? {}, labels)))) {
        const { minor, localFiles: local, flags = [] } = alike[0]!;
        for (const one of checkPolicy(read, text, { minor, local, flags })) add({ policy, ...one }, alike);
      }
  }
  return [...found.values()];
}

/** Selects all nodes if there is no selector, or none that can be used: then the policy allows nothing for them. */
export function selectorOf(object: KubeObject): LabelSelectorObject {
  const read = readPolicy(object);
  return typeof read === 'string' ? {} : (read.selector ?? {});
}

/** The reason where it cannot be used. */
function readPolicy(object: KubeObject): FieldPolicy | string {
  try {
    // Items of a list may be without them.
    return fieldPolicyFrom({ ...object, apiVersion: 'relet.dev/v1alpha1', kind: 'FieldPolicy' }, 'it cannot be used');
  } catch (error) {
    return (error as Error).message;
  }
}

/** Nodes on which a payload becomes the same config. */
function groupsOf(nodes: readonly PolicedNode[]): PolicedNode[][] {
  const groups = new Map<string, PolicedNode[]>();
  for (const node of nodes) {
    const key = JSON.stringify([node.minor, node.localFiles, node.flags]);
    const alike = groups.get(key);
    if (alike === undefined) groups.set(key, [node]);
    else alike.push(node);
  }
  return [...groups.values()];
}

const mostNamed = 3;

/** `FieldPolicy pool-limits: maxPods is 400, above the field policy's maximum 250 (node-1, node-2, node-3 and 7 more)`. */
export const rejectionText = ({ policy, message, nodes }: PolicyRejection): string =>
  oneLine(`FieldPolicy ${policy}: ${message}${nodes.length === 0 ? '' : ` (${namesOf(nodes)})`}`);

function namesOf(names: readonly string[]): string {
  const rest = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** None if the cluster does not have the kind; `forbidden` where this user may not list them. */
export async function listFieldPolicies(client: KubeClient, signal: AbortSignal): Promise<KubeObject[] | 'forbidden'> {
  try {
    return (await client.list<KubeObject>(fieldPolicies, { signal })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    if (isForbidden(error)) return 'forbidden';
    throw error;
  }
}
