/** `relet hold NODE...`: no set and no command of relet's changes these nodes until `relet release`. */
import { CannotRun } from '../../cannot-run.js';
import { rfc3339 } from '../../clock.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, whoAmI, withSession } from '../session.js';
import { hanging, terminalFor } from '../terminal/terminal.js';

export interface HoldOptions extends ConnectionOptions {
  why?: string;
  output?: 'json';
}

export const hold = (words: string[], options: HoldOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const { terminal, references, signal } = session;
      const nodes: ConfiguredNode[] = [];
      for (const name of new Set(words.map(nodeName))) nodes.push(await held(session, name));
      const text = holdAnnotationText(options.why, await whoAmI(session), session.client.clock.now());
      for (const node of nodes) {
        await references.hold(node, text, { signal });
        terminal.print(hanging(`${node.name}: held; 'relet release ${node.name}' releases it`, terminal));
      }
      if (options.output === 'json') {
        const results = nodes.map(({ name }) => ({ node: name, held: true, why: text }));
        const result = { apiVersion: 'cli.relet.dev/v1', kind: 'HoldResult', nodes: results };
        terminal.printDocument(JSON.stringify(result, null, 2));
      }
    },
    terminalFor(options),
  );

/** `broken fan (ann, 2026-11-17T06:00:00Z)`: the annotation is one text, which people also write with kubectl. */
function holdAnnotationText(why: string | undefined, who: string, nowMs: number): string {
  const by = `${oneLine(who)}, ${rfc3339(nowMs)}`;
  return why === undefined || why === '' ? `by ${by}` : `${oneLine(why)} (${by})`;
}

async function held({ references, signal }: Session, name: string): Promise<ConfiguredNode> {
  const node = await references.get(name, { signal });
  if (node.version !== '') return node;
  throw new CannotRun(`${name} has no NodeConfig yet; nothing was held. Is 'relet controller' running?`);
}
