/** Which nodes are meant: named one by one, by label, or all. */
import { parseLabelSelector, SelectorError } from '../api/label-selector.js';
import { checkDnsSubdomain } from '../api/names.js';
import { CannotRun } from '../cannot-run.js';
import type { ConfiguredNode } from '../fleet/configured-node.js';
import type { Session } from './session.js';

export interface NodeSelection {
  names: string[];
  selector?: string | undefined;
  all?: boolean | undefined;
}

/** At least one node, each once, in the order asked for. Throws when nothing was meant, or nothing is there. */
export async function selectNodes(
  session: Session,
  { names, selector, all }: NodeSelection,
): Promise<ConfiguredNode[]> {
  const ways = [names.length > 0, selector !== undefined, all === true].filter(Boolean).length;
  if (ways === 0) throw new CannotRun('name the nodes that are meant, or choose them with --selector or --all');
  if (ways > 1) throw new CannotRun('names of nodes, --selector and --all do not go together; keep one of them');
  if (names.length > 0) return byName(session, names);
  if (selector !== undefined) checkSelector(selector);
  const found: ConfiguredNode[] = [];
  const scope = selector === undefined ? {} : { labelSelector: selector };
  for await (const page of session.references.pages({ ...scope, signal: session.signal })) found.push(...page);
  if (found.length > 0) return found;
  throw new CannotRun(
    selector === undefined
      ? 'the cluster has no nodes; nothing was changed'
      : `no node matches '${selector}'; nothing was changed. 'relet get --show-labels' shows their labels`,
  );
}

/** From a word of the command line, `node-1` or `node/node-1`. No other word could name a node, so the server is not asked. */
export function nodeName(word: string): string {
  const name = word.replace(/^(node|nodes|no)\//, '');
  if (checkDnsSubdomain(name).length === 0) return name;
  throw new CannotRun(`'${word}' cannot be the name of a node; 'relet get' lists them`);
}

export function checkSelector(selector: string): void {
  try {
    parseLabelSelector(selector);
  } catch (error) {
    if (error instanceof SelectorError)
      throw new CannotRun(`--selector '${selector}': ${error.message}; write it as key=value,other!=value`);
    throw error;
  }
}

async function byName({ references, signal }: Session, names: string[]): Promise<ConfiguredNode[]> {
  const wanted = [...new Set(names.map(nodeName))];
  const nodes: ConfiguredNode[] = [];
  for (const name of wanted) nodes.push(await references.get(name, { signal }));
  return nodes;
}
