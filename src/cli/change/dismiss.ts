/** `relet dismiss NODE...`: marks the owed actions on these hosts as done. The condition ActionOwed follows. */

import { owedText } from '../../fleet/state-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';
import { hanging } from '../terminal/terminal.js';

export const dismiss = (names: string[], options: ConnectionOptions): Promise<void> =>
  withSession(options, async ({ references, terminal, signal }) => {
    for (const name of names) {
      const node = await references.get(nodeName(name), { signal });
      if (node.owed === undefined) {
        terminal.print(`${node.name}: nothing is left to do`);
        continue;
      }
      await references.dismiss(node);
      terminal.print(hanging(`${node.name}: dismissed: ${owedText(node.owed, node.owed.left)}`, terminal));
    }
  });
