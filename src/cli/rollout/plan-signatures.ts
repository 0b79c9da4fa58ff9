/**
 * The signatures of a planned rollout: the signers, the hosts that would reject the config for them, and those that would reject an
 * undo.
 */
import { type ConfigRef, formatRef, parseRef } from '../../api/config-ref.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import type { ConfigMap } from '../../api/object.js';
import { isForbidden } from '../../api/status.js';
import type { Statement } from '../../config/signing/statement.js';
import { tryReadPayload } from '../../fleet/config-maps.js';
import {
  returnRejection,
  type SignatureRejection,
  signatureRejection,
  statementOf,
} from '../../fleet/signature-forecast.js';
import type { NodeRejection } from '../../rehearsal/rejections.js';
import type { SetMember } from '../../rollout/members.js';
import { list } from '../../rollout/sentences.js';
import type { DesiredRevision } from '../../rollout/state.js';
import { oneLine } from '../../visible-text.js';
import type { Session } from '../session.js';
import { statementText } from '../sign/statement.js';

export interface PlannedSigners {
  /** Undefined if it cannot be read. */
  statement: Statement | undefined;
  /** Fingerprints of the keys. */
  keys: string[];
  /** The persons, as hosts that run it report them. */
  signers: string[];
}

export function signersOf(
  configMap: ConfigMap,
  { revision, signed }: Pick<DesiredRevision, 'revision' | 'signed'>,
  members: readonly SetMember[],
): PlannedSigners {
  const running = members.filter(
    ({ node }) => node.claim?.revision === revision && ['trial', 'active'].includes(node.state),
  );
  const signers = new Set(running.flatMap(({ object }) => object?.status?.signing?.signers ?? []).map(oneLine));
  return { statement: statementOf(configMap), keys: signed?.keys ?? [], signers: [...signers].sort() };
}

export function signersText({ statement, keys, signers }: PlannedSigners): string {
  const by = keys.length === 0 ? 'no valid signature' : `by ${keys.join(', ')}`;
  const persons = signers.length === 0 ? '' : `, which hosts know as ${signers.join(', ')}`;
  return `${by}${persons}; ${statement === undefined ? 'a statement that cannot be read' : statementText(statement)}`;
}

export const signatureRejections = (
  configMap: ConfigMap,
  members: readonly SetMember[],
  nowMs: number,
): NodeRejection[] =>
  grouped(members, ({ object, node }) =>
    signatureRejection(configMap, object?.status?.signing, {
      nowMs,
      had: node.claim?.source?.name === configMap.metadata.name,
    }),
  );

/** An undo returns to the current revision or, without one, to what each node had before. */
export async function undoRejections(
  session: Session,
  {
    set: { status = {} },
    revision,
    configMap,
    members,
    nowMs,
  }: { set: NodeConfigSet; revision: string; configMap: ConfigMap; members: readonly SetMember[]; nowMs: number },
): Promise<NodeRejection[]> {
  const requiring = members.filter(({ object }) => object?.status?.signing?.required);
  if (requiring.length === 0) return [];
  const { currentRevision, revisions = [] } = status;
  const current = revisions.find((one) => one.revision === currentRevision && one.revision !== revision)?.source;
  const returnOf = ({ node }: SetMember): ConfigRef | undefined => (current ? parseRef(current) : node.previous);
  const known = new Map<string, ConfigMap | undefined>();
  for (const member of requiring) {
    const ref = returnOf(member);
    const key = formatRef(ref, 'short');
    if (ref !== undefined && !known.has(key)) known.set(key, (await tryReadPayload(session, ref))?.configMap);
  }
  return grouped(requiring, (member) => {
    const present = known.get(formatRef(returnOf(member), 'short'));
    return present && returnRejection(present, configMap, member.object?.status?.signing, { nowMs });
  });
}

/** Before an undo of what nodes have now: hosts that would reject what it returns them to. Undefined also where nodes may not be listed. */
export async function undoWarning(
  session: Session,
  { metadata: { name }, status = {} }: NodeConfigSet,
): Promise<string | undefined> {
  const { currentRevision, updateRevision, revisions = [] } = status;
  const current = revisions.find(({ revision }) => revision === currentRevision && revision !== updateRevision)?.source;
  const rejecting = new Map<string, string[]>();
  try {
    for await (const page of session.references.pages({ signal: session.signal }))
      for (const { name: node, claim, signing } of page) {
        if (claim?.set !== name || claim.revision !== updateRevision || !signing?.required) continue;
        const ref = current === undefined ? claim.previous : parseRef(current);
        const configMap = ref && (await tryReadPayload(session, ref))?.configMap;
        const rejection = configMap && signatureRejection(configMap, signing, { nowMs: Date.now(), had: true });
        if (rejection !== undefined)
          rejecting.set(rejection.reason, [...(rejecting.get(rejection.reason) ?? []), node]);
      }
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  if (rejecting.size === 0) return undefined;
  const who = [...rejecting].map(([reason, nodes]) => `${list(nodes)} (${reason})`).join('; ');
  return `the hosts of these nodes would reject what the undo returns them to, and keep what they run: ${who}`;
}

function grouped(
  members: readonly SetMember[],
  rejectionOf: (member: SetMember) => SignatureRejection | undefined,
): NodeRejection[] {
  const found = new Map<string, NodeRejection>();
  for (const member of members) {
    const rejection = rejectionOf(member);
    if (rejection === undefined) continue;
    const kubeletVersion = member.cluster.status?.nodeInfo?.kubeletVersion ?? '';
    const key = JSON.stringify([kubeletVersion, rejection]);
    const known = found.get(key);
    if (known === undefined) found.set(key, { nodes: [member.node.name], kubeletVersion, ...rejection });
    else known.nodes.push(member.node.name);
  }
  return [...found.values()];
}
