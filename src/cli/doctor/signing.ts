/**
 * Checks of `relet doctor` about signatures: hosts without a trust file, keys and statements that expire, configs that other hosts
 * reject.
 */
import type { NodeConfigSet, NodeConfigSetSpec } from '../../api/node-config-set.js';
import { rfc3339 } from '../../clock.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { statementOf } from '../../fleet/signature-forecast.js';
import { setConfigMap } from '../../rollout/revision.js';
import { readRules } from '../../rollout/spec.js';
import { InvalidSpec } from '../../rollout/spec-values.js';
import { windowAt } from '../../rollout/windows.js';
import { type Diagnosis, someOf } from './diagnosis.js';

const soonMs = 30 * 86_400_000;

/** Returns no findings in a cluster where no host requires signatures. */
export function checkSigning(nodes: readonly ConfiguredNode[], nowMs: number): Diagnosis[] {
  const requiring = nodes.filter(({ signing }) => signing?.required);
  if (requiring.length === 0) return [];
  const without = nodes.filter(({ signing, reports }) => reports && !signing?.required);
  const expiring = requiring.filter(({ signing }) => Date.parse(signing?.keyExpires ?? '') < nowMs + soonMs);
  const behind = requiring.filter(
    (node) => (node.signing?.serial ?? Number.POSITIVE_INFINITY) < floorOf(node, requiring),
  );
  const withTrouble = (type: string) =>
    requiring.filter(({ signingTroubles = [] }) => signingTroubles.some((one) => one.type === type));
  const found: Diagnosis[] = [
    ...troubles.flatMap(([type, what]) =>
      warning(withTrouble(type), what, { remedy: `'relet describe NODE' has the message of ${type}` }),
    ),
    ...warning(without, 'start configs without a signature, where other hosts require one', {
      remedy: 'lay down /etc/relet/trust.yaml on these hosts (docs/signing.md)',
    }),
    ...warning(expiring, 'trust keys of which one expires within 30 days', {
      remedy: 'add the next key of that person to their trust files first: two lines for a while (docs/signing.md)',
    }),
    ...warning(behind, 'run a config with a serial that other hosts of their pool no longer accept', {
      remedy: 'assign them what the others have; they may have been away during a rollout',
    }),
  ];
  if (found.length > 0) return found;
  return [
    { level: 'ok', what: `all ${requiring.length} nodes that report require signatures, and no key expires soon` },
  ];
}

const troubles = [
  ['TrustFileUsable', 'cannot use their trust file, and accept nothing new'],
  ['SignatureExpired', 'run a config whose statement has expired'],
  ['UnsignedAccepted', 'accept configs without a signature for a while'],
] as const;

/** The highest floor in the pool of a node. */
const floorOf = ({ signing }: ConfiguredNode, nodes: readonly ConfiguredNode[]): number =>
  Math.max(0, ...nodes.map((other) => (other.signing?.pool === signing?.pool ? (other.signing?.floor ?? 0) : 0)));

function warning(nodes: readonly ConfiguredNode[], what: string, { remedy }: { remedy: string }): Diagnosis[] {
  if (nodes.length === 0) return [];
  return [{ level: 'warning', what: `hosts that ${what}: ${someOf(nodes.map(({ name }) => name))}`, remedy }];
}

/** The statement of a set, against its windows and against nodes that join. */
export function checkStatement({ metadata: { name }, spec }: NodeConfigSet, nowMs: number): Diagnosis[] {
  const { signed } = spec.config;
  const notAfter = signed && statementOf(setConfigMap(name, signed.payload, 1, signed))?.notAfter;
  if (notAfter === undefined) return [];
  const endMs = notAfter * 1000;
  const remedy = `'relet rollout sign ${name} -f KEY --not-after 2160h' renews it; no kubelet restarts`;
  if (endMs <= nowMs)
    return [
      { level: 'warning', what: `set ${name}: its statement has expired, so nodes that join will reject it`, remedy },
    ];
  const opensAtMs = nextWindowMs(spec, nowMs);
  if (opensAtMs === undefined || opensAtMs < endMs) return [];
  const what = `set ${name}: its statement expires at ${rfc3339(endMs)}, before its next window at ${rfc3339(opensAtMs)}`;
  return [{ level: 'warning', what, remedy }];
}

/** Undefined while one is open, without windows, and for a spec that the controller reports as invalid. */
function nextWindowMs(spec: NodeConfigSetSpec, nowMs: number): number | undefined {
  try {
    const { open, changesAtMs } = windowAt(readRules(spec).windows, nowMs);
    return open ? undefined : changesAtMs;
  } catch (error) {
    if (error instanceof InvalidSpec) return undefined;
    throw error;
  }
}
