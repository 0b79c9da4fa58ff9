/**
 * Inventory and audit for the page: the effective configs of all nodes that this user may read, from reports of agents, else from the
 * kubelets. Bounded: of many nodes with the same value some are named, and long values are shortened.
 */
import { audit, auditSummary, type Finding, fixText, resultText } from '../../audit/audit.js';
import {
  type EffectiveFleet,
  missingRight,
  readEffectiveConfigs,
  rightCommands,
} from '../../fleet/effective-configs.js';
import {
  counted,
  type FieldValues,
  groupBy,
  inventorySummary,
  isNotable,
  originText,
  shownValues,
  takeInventory,
} from '../../fleet/inventory.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { AuditAnswer, AuditFinding, InventoryAnswer, NodeNames } from '../wire.js';
import type { Reader } from './reader.js';

const nodeTimeoutMs = 5_000;
const mostNames = 100;
const mostReasons = 50;
const mostOutliers = 200;
const longestValue = 500;

interface Asked {
  /** For the commands that give them a right. */
  user: string;
}

export async function inventoryAnswer(reader: Reader, asked: Asked): Promise<InventoryAnswer> {
  const fleet = await readFleet(reader);
  const found = takeInventory(fleet, { field: /./ });
  const alike = [...groupBy(found.outliers, ({ node: _, ...rest }) => JSON.stringify(rest)).values()];
  return {
    ...reading(fleet, reader, asked, inventorySummary(found)),
    pools: found.pools,
    fields: found.fields.map(fieldOf),
    outliers: alike.slice(0, mostOutliers).map((nodes) => {
      const { pool, field, value, usual } = nodes[0]!;
      return { pool, field, value: shown(value), usual: shown(usual), nodes: namesOf(nodes.map(({ node }) => node)) };
    }),
  };
}

export async function auditAnswer(reader: Reader, asked: Asked): Promise<AuditAnswer> {
  const fleet = await readFleet(reader);
  const report = audit(fleet, { nowMs: reader.nowMs });
  const { pools } = takeInventory(fleet);
  const findings = groupBy(report.findings, ({ pool }) => pool);
  return {
    ...reading(fleet, reader, asked, auditSummary(report)),
    pools: pools.map(({ name, nodes }) => ({ name, nodes, findings: (findings.get(name) ?? []).map(findingOf) })),
  };
}

const readFleet = ({ client, references, signal, nowMs }: Reader) =>
  readEffectiveConfigs(
    { client, signal },
    { hasAgents: references.kind === 'NodeConfig', nowMs, timeoutMs: nodeTimeoutMs },
  );

function reading(fleet: EffectiveFleet, { nowMs: at }: Reader, { user }: Asked, summary: string) {
  const { nodes, unread } = fleet;
  const reasons = [...groupBy(unread, ({ reason }) => reason)].slice(0, mostReasons);
  const missing = missingRight(fleet);
  const left = unread.length > 0 ? ` ${counted(unread.length, 'node')} could not be read.` : '';
  return {
    at,
    summary: nodes.length > 0 ? `${summary}${left}` : left.trim() || 'The cluster has no nodes.',
    unread: reasons.map(([reason, nodes]) => ({ reason, nodes: namesOf(nodes.map(({ name }) => name)) })),
    ...(missing && { rightCommands: rightCommands(missing, user) }),
  };
}

const fieldOf = (one: FieldValues): InventoryAnswer['fields'][number] => ({
  field: one.field,
  isDefault: !isNotable(one),
  values: shownValues(one).map((value) => ({
    value: shown(value.value),
    from: shown(originText(value)),
    nodes: namesOf(value.nodes),
  })),
});

function findingOf(finding: Finding): AuditFinding {
  const { check, ids, title, found, origin, why, nodes } = finding;
  return {
    ...{ check, ids, title, why },
    found: shown(found),
    origin: shown(origin),
    result: resultText(finding),
    fix: fixText(finding),
    nodes: namesOf(nodes),
  };
}

const namesOf = (names: readonly string[]): NodeNames => ({ count: names.length, names: names.slice(0, mostNames) });
const shown = (text: string): string => shorten(oneLine(text), longestValue);
