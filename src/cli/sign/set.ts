/**
 * Signs the config of a set. Defaults of its statement that depend on the cluster: the pools of its hosts, and the serial of the config
 * that they return to.
 */

import { parseRef } from '../../api/config-ref.js';
import type { NodeConfigSet, SetConfig, SignedConfig } from '../../api/node-config-set.js';
import { selectorText } from '../../api/selector-object.js';
import { defaultKey, tryReadPayload } from '../../fleet/config-maps.js';
import { statementOf } from '../../fleet/signature-forecast.js';
import { desiredRevision } from '../../rollout/revision.js';
import { joinedSignatures } from '../../rollout/signed-config.js';
import type { Session } from '../session.js';
import { type SigningFacts, type SigningResult, type StatementOptions, sign, splitSignatures } from './statement.js';

export async function readSetFacts(
  session: Session,
  { metadata, spec, status = {} }: NodeConfigSet,
  payload: string,
): Promise<SigningFacts> {
  const { currentRevision, revisions = [] } = status;
  const isSame = currentRevision === desiredRevision(metadata.name, payload).revision;
  const source = isSame ? undefined : revisions.find(({ revision }) => revision === currentRevision)?.source;
  const ref = source === undefined ? undefined : parseRef(source);
  const replaced = ref && (await tryReadPayload(session, ref));
  const serial = replaced && statementOf(replaced.configMap)?.serial;
  const labelSelector = selectorText(spec.selector);
  const pools = new Set<string>();
  const scope = { ...(labelSelector && { labelSelector }), signal: session.signal };
  for await (const page of session.references.pages(scope))
    for (const { signing } of page) if (signing?.pool !== undefined) pools.add(signing.pool);
  return { pools: [...pools].sort(), ...(serial !== undefined && { replaced: serial }) };
}

/** Signed config in place of the one that the set has. */
export async function signedConfig(
  config: Pick<SetConfig, 'signed'>,
  payload: string,
  { keyFile, ...options }: StatementOptions & { keyFile: string },
  facts: SigningFacts = {},
): Promise<{ signed: SignedConfig; result: SigningResult }> {
  const { signed: before } = config;
  const signed = before && {
    statement: before.statement,
    signatures: splitSignatures(joinedSignatures(before.signatures)),
  };
  const made = { data: { [defaultKey]: payload }, signed };
  const result = await sign(made, { ...options, key: keyFile }, { facts, nowMs: Date.now() });
  const { statement, signatures } = result;
  return { signed: { payload, statement, signatures }, result };
}
