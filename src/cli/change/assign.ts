/** `relet assign CONFIGMAP NODE...`: points nodes at a config that is in the API already. */

import { formatRef, refOf, sameConfig } from '../../api/config-ref.js';
import { configLabel } from '../../api/node-config.js';
import { CannotRun } from '../../cannot-run.js';
import { findConfigMap, sourceOf } from '../../fleet/config-maps.js';
import { configState } from '../../fleet/configured-node.js';
import { minorOf } from '../../fleet/effective-config.js';
import { selectNodes, withSession } from '../session.js';
import { hanging } from '../terminal/styled-text.js';
import { terminalFor } from '../terminal/terminal.js';
import { makeChanges } from './change.js';
import { type ChangeVerbOptions, confirmAndMake, showDifferencesTo } from './change-to.js';
import { rejectErrors } from './new-text.js';

export interface AssignVerbOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
  validate?: boolean;
}

export const assign = (word: string, names: string[], options: AssignVerbOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const { terminal } = session;
      const { text, configMap, source } = await findConfigMap(
        session,
        word.replace(/^(configmap|cm)s?\//, ''),
        options.key,
      );
      const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
      const to = sourceOf(configMap, source.kubeletConfigKey);
      const checked = new Set<number>();
      for (const node of nodes) {
        if (options.validate === false || checked.has(minorOf(node))) continue;
        rejectErrors(node, text);
        checked.add(minorOf(node));
      }
      const isThere = (node: (typeof nodes)[number]) => sameConfig(refOf(node.configSource), refOf(to), 'name');
      const unchanged = nodes.filter(isThere);
      for (const node of unchanged)
        terminal.print(`${node.name}: is assigned ${formatRef(source, 'short')} already (${configState(node)})`);
      const changes = nodes.filter((node) => !isThere(node)).map((node) => ({ node, to }));
      if (changes.length === 0) return makeChanges(session, 'assign', [], options, unchanged);
      for (const { node } of changes)
        terminal.print(
          hanging(
            `${node.name}: ${formatRef(refOf(node.configSource), 'short')} -> ${formatRef(source, 'short')}`,
            terminal,
          ),
        );
      if (configMap.immutable !== true)
        terminal.print(
          'Note: this ConfigMap is not immutable: an edit of it restarts the kubelet of every node that uses it.',
        );
      if (session.references.kind === 'NodeConfig' && configMap.metadata.labels?.[configLabel] !== 'true')
        throw new CannotRun(
          `ConfigMap ${word} lacks the label ${configLabel}=true, and nodes reject it; 'relet push' makes ConfigMaps that have it`,
        );
      await showDifferencesTo(
        session,
        changes.map(({ node }) => node),
        text,
      );
      const question = (which: string) => `Assign it to ${which}?`;
      await confirmAndMake(session, 'assign', changes, { ...options, question, unchanged });
    },
    terminalFor(options),
  );
