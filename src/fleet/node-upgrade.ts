/** Checks how another kubelet would interpret a node's config, from the data that the API has. Pure. */
import { formatRef } from '../api/config-ref.js';
import type { Host, Minor } from '../config/model.js';
import { isOverlay } from '../config/overlay.js';
import { type UpgradeFinding, type UpgradeResult, upgradeCheck } from '../config/upgrade-check.js';
import type { NodeConfigs } from './node-configs.js';
import { localFile, localOnly } from './payload.js';

export interface NodeUpgrade extends UpgradeResult {
  /** The config that the node is assigned: `relet-system/web-5t8b9kd2m4/kubelet`, or `local`. */
  checked: string;
  /** False: flags of its kubelet are not known, and were not checked. */
  knowsFlags: boolean;
}

/** Returns a string, the reason, if it cannot be checked. */
export function upgradeOf(
  { assigned, local, localFiles, flags, node }: NodeConfigs,
  { from, to, host }: { from: Minor; to: Minor; host?: Host | undefined },
): NodeUpgrade | string {
  if (assigned.problem !== undefined) return `the config that it is assigned cannot be read: ${assigned.problem}`;
  const { text } = assigned;
  const options = { from, to, flags: flags ?? [], ...(host && { host }) };
  const about = { checked: formatRef(assigned.ref, 'short'), knowsFlags: flags !== undefined };
  if (text !== undefined && !isOverlay(text)) return { ...upgradeCheck(text, options), ...about };
  const files = localFiles ?? (local && [localFile(local)]);
  if (files === undefined)
    return `its local config is not known: its agent does not report it, and its kubelet cannot be asked; run 'relet config upgrade-check' with the file on ${node.name}`;
  const result = upgradeCheck(text ?? localOnly, { ...options, local: files });
  return { ...result, findings: result.findings.map(withoutLine), ...about };
}

/** The lines of a local file are not reported. */
function withoutLine(finding: UpgradeFinding): UpgradeFinding {
  if (finding.file === undefined) return finding;
  const { line: _line, column: _column, ...rest } = finding;
  return rest;
}
