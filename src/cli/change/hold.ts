/**
 * `relet hold NODE...`: keeps every set and every relet command from changing these nodes until `relet release`. An existing hold is
 * shown, and replaced only after confirmation.
 */
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import { longestWhy } from '../../fleet/config-history.js';
import { type ConfiguredNode, holdNote } from '../../fleet/configured-node.js';
import { holdText } from '../../fleet/state-text.js';
import { shorten } from '../../shorten.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, whoAmI, withResultSession } from '../session.js';
import { hanging, printError } from '../terminal/terminal.js';
import { confirm } from './change-to.js';
import { markNode } from './mark-node.js';

export interface HoldOptions extends ConnectionOptions {
  why?: string;
  yes?: boolean;
  output?: 'json';
}

export const hold = (words: string[], options: HoldOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const { terminal } = session;
    const nodes: ConfiguredNode[] = [];
    for (const name of new Set(words.map(nodeName))) nodes.push(await held(session, name));
    const others = nodes.filter((node) => node.hold !== undefined);
    for (const { name, hold } of others) printError(`relet: ${name} is ${holdText(hold!)}`);
    if (others.length > 0 && !(await mayReplace(session, others, options))) return;
    const by = await whoAmI(session);
    const at = rfc3339(session.client.clock.now());
    const why = shorten(options.why ?? '', longestWhy);
    const text = holdNote({ why, by, at });
    for (const node of nodes) {
      await markNode(session, node, { hold: text }, { at, by, verb: 'hold', why });
      terminal.print(hanging(`${node.name}: held; 'relet release ${node.name}' releases it`, terminal));
    }
    if (options.output === 'json') {
      const results = nodes.map(({ name }) => ({ node: name, held: true, why: text }));
      const result = { apiVersion: 'cli.relet.dev/v1', kind: 'HoldResult', nodes: results };
      terminal.printDocument(JSON.stringify(result, null, 2));
    }
  });

/** The other person still needs it, maybe. Without a terminal it takes --yes. */
async function mayReplace(session: Session, others: ConfiguredNode[], { yes }: HoldOptions): Promise<boolean> {
  const which = others.length === 1 ? `the hold of ${others[0]!.name}` : `the holds of ${others.length} nodes`;
  if (await confirm(session, `Replace ${which}?`, yes)) return true;
  session.terminal.print('Nothing was changed.');
  process.exitCode = 1;
  return false;
}

async function held({ references, signal }: Session, name: string): Promise<ConfiguredNode> {
  const node = await references.get(name, { signal });
  if (node.version !== '') return node;
  throw new CannotRun(`${name} has no NodeConfig yet; nothing was held. Is 'relet controller' running?`);
}
