/** `--sign KEY`: signs ConfigMaps that are about to be stored, and checks that the hosts will accept them. */
import type { ConfigMap } from '../../api/object.js';
import { signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { contentOf, sameContent } from '../../config/signing/statement.js';
import { keyOf } from '../../fleet/config-maps.js';
import { signatureRejection, statementOf } from '../../fleet/signature-forecast.js';
import { configMaps } from '../../kube/resource-type.js';
import type { Session } from '../session.js';
import {
  type Signed,
  type SigningFacts,
  type SigningResult,
  type StatementOptions,
  sign,
  splitSignatures,
} from '../sign/statement.js';
import type { PlannedChange } from './plan.js';

/** Nodes with the same text share one ConfigMap, which is signed once. */
export async function signPlans(
  session: Session,
  plans: PlannedChange[],
  { sign: key }: { sign?: string },
): Promise<PlannedChange[]> {
  if (key === undefined) return plans;
  const signed = new Map<string, ConfigMap>();
  for (const { configMap } of plans) {
    if (configMap === undefined || signed.has(keyOf(configMap))) continue;
    const same = plans.filter((plan) => plan.configMap && keyOf(plan.configMap) === keyOf(configMap));
    const { configMap: made } = await signConfigMap(session, configMap, { key }, factsFor(same));
    for (const { node } of same) {
      const rejection = signatureRejection(made, node.signing, { nowMs: Date.now() });
      if (rejection !== undefined)
        throw new CannotRun(
          `nothing was changed: the host of ${node.name} would reject the config all the same (${rejection.reason}): ${rejection.message}. 'relet push FILE --sign KEY' has options for the statement, and takes signatures of several people`,
        );
    }
    signed.set(keyOf(configMap), made);
  }
  return plans.map((plan) => (plan.configMap ? { ...plan, configMap: signed.get(keyOf(plan.configMap))! } : plan));
}

/** The lowest serial that one of the nodes has, so that each of them can return. */
function factsFor(plans: readonly PlannedChange[]): SigningFacts {
  const pools = [...new Set(plans.flatMap(({ node }) => node.signing?.pool ?? []))].sort();
  const serials = plans.flatMap(
    ({ now }) => (now.assigned.configMap && statementOf(now.assigned.configMap)?.serial) ?? [],
  );
  return { pools, ...(serials.length > 0 && { replaced: Math.min(...serials) }) };
}

/** Keeps the signatures of the stored ConfigMap if its statement is the same. */
export async function signConfigMap(
  session: Pick<Session, 'client' | 'signal'>,
  configMap: ConfigMap,
  { beside, ...options }: StatementOptions & { key: string; beside?: Signed | undefined },
  facts: SigningFacts = {},
): Promise<{ configMap: ConfigMap; result: SigningResult }> {
  const { data, binaryData } = configMap;
  const signed = beside ?? (await readPresent(session, configMap));
  const result = await sign({ data, binaryData, signed }, options, { facts, nowMs: Date.now() });
  return { configMap: withSignatures(configMap, result), result };
}

export function withSignatures(
  { metadata, ...rest }: ConfigMap,
  { statement, signatures, facts }: Pick<SigningResult, 'statement' | 'signatures' | 'facts'>,
): ConfigMap {
  const annotations = {
    ...metadata.annotations,
    ...facts.annotations,
    [statementAnnotation]: statement,
    [signaturesAnnotation]: signatures.join(''),
  };
  return { ...rest, metadata: { ...metadata, annotations } };
}

async function readPresent(
  { client, signal }: Pick<Session, 'client' | 'signal'>,
  { metadata, data, binaryData }: ConfigMap,
) {
  const { namespace = '', name } = metadata;
  try {
    const present = await client.get<ConfigMap>(configMaps, { namespace, name }, { signal });
    const { [statementAnnotation]: statement, [signaturesAnnotation]: signatures = '' } =
      present.metadata.annotations ?? {};
    const facts = statementOf(present);
    if (statement === undefined || facts === undefined) return undefined;
    const { annotations } = facts;
    const isOfThis = sameContent(contentOf({ data, binaryData, annotations }), facts);
    return isOfThis ? { statement, signatures: splitSignatures(signatures) } : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
