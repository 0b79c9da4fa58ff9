/** `relet release NODE...`: nodes that somebody changed with --take-from-set go back to their set, which assigns its config again. */
import { CannotRun } from '../../cannot-run.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { membershipOf } from '../../fleet/membership.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';
import { hanging, terminalFor } from '../terminal/terminal.js';

export interface ReleaseOptions extends ConnectionOptions {
  output?: 'json';
}

export const release = (words: string[], options: ReleaseOptions): Promise<void> =>
  withSession(
    options,
    async ({ references, terminal, signal }) => {
      const results: object[] = [];
      for (const name of new Set(words.map(nodeName))) {
        const node = await references.get(name, { signal });
        const { set, isTaken } = setOf(node);
        if (isTaken) await references.adopt(node, set);
        const text = isTaken
          ? `released to the set ${set}, which assigns its config again; 'relet rollout status ${set}' shows when`
          : `is with its set ${set} already`;
        terminal.print(hanging(`${name}: ${text}`, terminal));
        results.push({ node: name, set, released: isTaken });
      }
      if (options.output === 'json')
        terminal.printDocument(
          JSON.stringify({ apiVersion: 'cli.relet.dev/v1', kind: 'ReleaseResult', nodes: results }, null, 2),
        );
    },
    terminalFor(options),
  );

function setOf(node: ConfiguredNode): { set: string; isTaken: boolean } {
  const membership = membershipOf(node);
  if (membership !== undefined) return { set: membership.claim.set, isTaken: membership.isTaken };
  throw new CannotRun(
    `${node.name} was taken from no set; 'relet rollout adopt SET ${node.name}' gives a node to a set. A node that is held on its host is released there, with 'relet node release'`,
  );
}
