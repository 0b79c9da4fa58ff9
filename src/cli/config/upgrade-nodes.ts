/** `relet config upgrade-check --node` and `--all`: groups nodes with the same result into one report. */
import { type Host, type Minor, newestMinor, parseMinor } from '../../config/model.js';
import { type NodeConfigs, nodeConfigReader } from '../../fleet/node-configs.js';
import { type NodeUpgrade, upgradeOf } from '../../fleet/node-upgrade.js';
import type { ConnectionOptions, KubeletVersion } from '../command-line.js';
import { readEach, selectNodes, withSession } from '../session.js';
import type { UpgradeReport } from './upgrade-output.js';

export interface NodesOptions extends ConnectionOptions {
  to: KubeletVersion;
  from?: KubeletVersion;
  node?: string[];
  selector?: string;
  all?: boolean;
}

export const reportsOfNodes = (options: NodesOptions, host: Host | undefined): Promise<UpgradeReport[]> =>
  withSession(options, async (session) => {
    const { node = [], selector, all } = options;
    const nodes = await selectNodes(session, { names: node, selector, all });
    const reader = nodeConfigReader(session);
    const configs = await readEach(session, nodes, (one) => reader.read(one));
    const upgrade = oncePerConfig((one: NodeConfigs, from: Minor) =>
      upgradeOf(one, { from, to: options.to.minor, host }),
    );
    return grouped(configs.map((one) => reportOf(one, options, upgrade)));
  });

type Upgrade = (configs: NodeConfigs, from: Minor) => NodeUpgrade | string;

/** Thousands of nodes have a few configs between them. */
function oncePerConfig(upgrade: Upgrade): Upgrade {
  const results = new Map<string, NodeUpgrade | string>();
  return (configs, from) => {
    const { assigned, local, localFiles, flags } = configs;
    const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
    const key = JSON.stringify([from, assigned, local, localFiles, flags], plain);
    const result = results.get(key) ?? upgrade(configs, from);
    // A string may name the node.
    if (typeof result !== 'string') results.set(key, result);
    return result;
  };
}

function reportOf(configs: NodeConfigs, options: NodesOptions, upgrade: Upgrade): UpgradeReport {
  const { name, kubeletVersion } = configs.node;
  const to = options.to.minor;
  const running = parseMinor(kubeletVersion);
  const from = options.from?.minor ?? running ?? 0;
  const report: UpgradeReport = { file: 'local', nodes: [name], from, to, startup: 'ok', findings: [] };
  if (from === 0) return { ...report, from: to, unknown: 'its kubelet has not reported its version; use --from' };
  if (from > newestMinor)
    return { ...report, unknown: `kubelet 1.${from} is newer than relet knows (1.${newestMinor})` };
  if (from >= to) return { ...report, upgraded: true };
  const found = upgrade(configs, from);
  if (typeof found === 'string') return { ...report, unknown: found };
  const { checked, knowsFlags, ...result } = found;
  return { ...report, ...result, file: checked, ...(!knowsFlags && { withoutFlags: true as const }) };
}

/** In the order of the first node of each group. */
function grouped(reports: readonly UpgradeReport[]): UpgradeReport[] {
  const groups = new Map<string, UpgradeReport>();
  for (const { nodes = [], ...rest } of reports) {
    const key = JSON.stringify(rest);
    const group = groups.get(key);
    groups.set(key, { ...rest, nodes: [...(group?.nodes ?? []), ...nodes] });
  }
  return [...groups.values()];
}
