/** Reads the fleet for `relet inventory` and `relet audit`: from a cluster, or from files of `relet inventory --save`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { matchesLabels, parseLabelSelector } from '../../api/label-selector.js';
import { CannotRun } from '../../cannot-run.js';
import {
  type EffectiveFleet,
  type MissingRight,
  missingRight,
  readEffectiveConfigs,
  rightCommands,
} from '../../fleet/effective-configs.js';
import { counted } from '../../fleet/inventory.js';
import { indexFile, readInventoryFiles } from '../../fleet/inventory-files.js';
import type { ConnectionOptions } from '../command-line.js';
import { whyUnreadable } from '../read-file.js';
import { checkSelector, nodeName, type Session, whoAmI, withSession } from '../session.js';
import { openTerminal, printError, showProgress } from '../terminal/terminal.js';

export interface FleetOptions extends ConnectionOptions {
  selector?: string;
  from?: string;
  /** Timeout of the requests to one kubelet. */
  nodeTimeout: number;
}

/** At least one node was read. Throws with the missing right where none was because of it. */
export async function readFleet(words: readonly string[], options: FleetOptions): Promise<EffectiveFleet> {
  const names = words.map(nodeName);
  if (names.length > 0 && options.selector !== undefined)
    throw new CannotRun('names of nodes and --selector do not go together; keep one of them');
  if (options.selector !== undefined) checkSelector(options.selector);
  if (options.from !== undefined) return selected(readSaved(options.from), names, options.selector);
  return withSession(options, async (session) => {
    const fleet = await readCluster(session, names, options);
    const missing = missingRight(fleet);
    const right = missing && rightText(missing, await whoAmI(session));
    if (fleet.nodes.length > 0) {
      if (right !== undefined) printError(`relet: some nodes were not read: ${right}`);
      return fleet;
    }
    const [first] = fleet.unread;
    if (first === undefined)
      throw new CannotRun(
        options.selector === undefined ? 'the cluster has no nodes' : `no node matches '${options.selector}'`,
      );
    if (right !== undefined) throw new CannotRun(right);
    throw new CannotRun(
      `none of ${fleet.unread.length} nodes could be read; ${first.name}: ${first.reason}. 'kubectl get --raw /api/v1/nodes/${first.name}/proxy/configz' shows the same`,
    );
  });
}

/** Shows progress on a terminal once it takes longer than a second. */
async function readCluster({ client, references, signal }: Session, names: string[], options: FleetOptions) {
  const progress = showProgress(openTerminal(), () => performance.now(), { isQuietInPipe: true });
  let [text, isShown] = ['nodes', false];
  const show = () => {
    isShown = true;
    progress.at('Reading', text);
  };
  const late = setTimeout(show, 1000);
  try {
    const fleet = await readEffectiveConfigs(
      { client, signal },
      {
        hasAgents: references.kind === 'NodeConfig',
        nowMs: Date.now(),
        names,
        selector: options.selector,
        timeoutMs: options.nodeTimeout,
        onProgress(done, of) {
          text = `/configz of kubelets, ${done} of ${of}`;
          if (isShown) show();
        },
      },
    );
    if (isShown) progress.end('Reading', counted(fleet.nodes.length, 'node'));
    return fleet;
  } finally {
    clearTimeout(late);
    progress.close();
  }
}

function rightText(missing: MissingRight, user: string): string {
  const [what, then] =
    missing === 'nodes/proxy'
      ? [
          `no agent of relet's reports the configs of these nodes, and ${user} may not read them from the kubelets: 'get' on nodes/proxy is missing`,
          ': the right reaches far, see docs/inventory.md',
        ]
      : [
          `${user} may not read the configs of these nodes: 'get' on ConfigMaps in ${missing.configMapsIn} is missing`,
          '',
        ];
  const commands = rightCommands(missing, user);
  return `${what}. An administrator gives it for as long as it is needed with
  ${commands.join('\n  ')}
and takes it back with '${commands[1]!.replace('create', 'delete').replace(/ --.*/, '')}'${then}`;
}

export function readSaved(dir: string): EffectiveFleet {
  return readInventoryFiles((name) => {
    try {
      return readFileSync(join(dir, name), 'utf8');
    } catch (error) {
      const hint = name === indexFile ? "; 'relet inventory --save DIR' writes one" : '';
      throw new CannotRun(`cannot read ${join(dir, name)}: ${whyUnreadable(error)}${hint}`);
    }
  });
}

function selected(fleet: EffectiveFleet, names: readonly string[], selector: string | undefined): EffectiveFleet {
  const missing = names.find((name) => ![...fleet.nodes, ...fleet.unread].some((node) => node.name === name));
  if (missing !== undefined) throw new CannotRun(`there is no node '${missing}' in the inventory`);
  const requirements = selector === undefined ? undefined : parseLabelSelector(selector);
  const isWanted = ({ name, labels }: { name: string; labels: Record<string, string> }) =>
    (names.length === 0 || names.includes(name)) && (requirements === undefined || matchesLabels(requirements, labels));
  return { ...fleet, nodes: fleet.nodes.filter(isWanted), unread: fleet.unread.filter(isWanted) };
}
