/** `relet reset NODE...`: back to the config that is local to the node. */

import { formatRef, refOf } from '../../api/config-ref.js';
import { selectNodes, withSession } from '../session.js';
import { hanging } from '../terminal/styled-text.js';
import { terminalFor } from '../terminal/terminal.js';
import type { AssignVerbOptions } from './assign.js';
import { makeChanges } from './change.js';
import { confirmAndMake, noDifferenceToLocal } from './change-to.js';

export const reset = (names: string[], options: AssignVerbOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const { terminal } = session;
      const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
      // An unset one may run anything: local is then a change.
      const isLocal = ({ configSource, unset }: (typeof nodes)[number]) => configSource === undefined && !unset;
      const unchanged = nodes.filter(isLocal);
      for (const { name } of unchanged) terminal.print(`${name}: is on its local config already`);
      const changes = nodes.filter((node) => !isLocal(node)).map((node) => ({ node, to: undefined }));
      if (changes.length === 0) return makeChanges(session, 'reset', [], options, unchanged);
      for (const { node } of changes)
        terminal.print(hanging(`${node.name}: ${formatRef(refOf(node.configSource), 'short')} -> local`, terminal));
      terminal.print(noDifferenceToLocal(terminal));
      const question = (which: string) => `Reset ${which}?`;
      await confirmAndMake(session, 'reset', changes, { ...options, question, unchanged });
    },
    terminalFor(options),
  );
