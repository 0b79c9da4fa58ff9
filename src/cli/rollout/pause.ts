/** `relet rollout pause` and `resume`: write spec.paused. If the set is in Git, Git may set it back. */
import { byAnnotation } from '../../api/node-annotations.js';
import { type NodeConfigSet, nodeConfigSets, whyAnnotation } from '../../api/node-config-set.js';
import { gitOwner } from '../../rollout/requests.js';
import { type ChangeOptions, isDryRun } from '../change/change.js';
import type { ConnectionOptions } from '../command-line.js';
import { whoAmI } from '../session.js';
import { hanging, printError } from '../terminal/terminal.js';
import { withSet } from './read-set.js';
import { printResult, type ResultOutput } from './result.js';

export interface PauseOptions extends ConnectionOptions, Pick<ChangeOptions, 'dryRun'> {
  why?: string;
  output?: ResultOutput;
}

export const pause = (word: string, options: PauseOptions): Promise<void> => setPaused(word, true, options);
export const resume = (word: string, options: PauseOptions): Promise<void> => setPaused(word, false, options);

const setPaused = (word: string, paused: boolean, options: PauseOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { client, terminal } = session;
    const { name } = set.metadata;
    const verb = paused ? 'pause' : 'resume';
    const isSo = (set.spec.paused ?? false) === paused;
    const dryRun = isDryRun(options);
    if (!isSo && options.dryRun !== 'client') {
      const annotations = { [byAnnotation]: await whoAmI(session), [whyAnnotation]: options.why ?? null };
      const patch = { metadata: { annotations }, spec: { paused } };
      await client.patch(nodeConfigSets, { name }, patch, { as: 'merge', fieldManager: 'relet', dryRun });
    }
    const done = paused ? 'paused: no further node is changed, and trials under way end' : 'resumed';
    const text = dryRun ? `would be ${done}; nothing was changed (dry run)` : done;
    terminal.print(hanging(`${name}: ${isSo ? `is ${paused ? 'paused' : 'not paused'} already` : text}`, terminal));
    const owner = isSo ? undefined : gitOwner(set);
    const warnings = owner === undefined ? [] : [undoneByGit(set, owner, paused)];
    for (const text of warnings) printError(`relet: warning: ${text}`);
    printResult(terminal, options, {
      set: name,
      verb,
      ...(dryRun && { dryRun }),
      ...(warnings.length > 0 && { warnings }),
    });
  });

const undoneByGit = ({ metadata: { name } }: NodeConfigSet, owner: string, paused: boolean): string =>
  `${owner} applies ${name} from Git and will undo this at its next sync; write 'paused: ${paused}' there as well${paused ? `, or use 'relet rollout abort ${name}', which it does not undo` : ''}`;
