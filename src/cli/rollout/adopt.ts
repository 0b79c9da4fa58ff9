/**
 * `relet rollout adopt SET [NODE...]`: hands nodes over to a set whose config was assigned by hand or by an earlier relet. Each node
 * gets a mark; the controller claims it, and the rollout reaches it like any other node.
 */
import { formatRef, refOf } from '../../api/config-ref.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { selectorText } from '../../api/selector-object.js';
import { CannotRun } from '../../cannot-run.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { isByHand } from '../../rollout/target.js';
import { type ChangeOptions, isDryRun } from '../change/change.js';
import { confirm } from '../change/change-to.js';
import { markNode } from '../change/mark-node.js';
import { namesOf } from '../change/outcome.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, type Session, whoAmI } from '../session.js';
import { hanging } from '../terminal/terminal.js';
import { withSet } from './read-set.js';
import { printResult, type ResultOutput } from './result.js';

export interface AdoptOptions extends ConnectionOptions, Pick<ChangeOptions, 'dryRun'> {
  why?: string;
  yes?: boolean;
  output?: ResultOutput;
}

export const adopt = (word: string, words: string[], options: AdoptOptions): Promise<void> =>
  withSet(word, options, async (session, set) => {
    const { terminal } = session;
    const { name } = set.metadata;
    const nodes = adoptable(await selectedBy(session, set), name, words.map(nodeName));
    for (const node of nodes) terminal.print(hanging(`${node.name}: ${whose(node)}`, terminal));
    const names = nodes.map((node) => node.name);
    const question = `Give ${names.length === 1 ? names[0] : `${names.length} nodes`} to the set ${name}?`;
    const dryRun = isDryRun(options);
    if (names.length > 0 && !dryRun && !(await confirm(session, question, options.yes))) {
      terminal.print('Nothing was changed.');
      process.exitCode = 1;
      return;
    }
    if (options.dryRun !== 'client' && names.length > 0) {
      const person = { by: await whoAmI(session), verb: 'adopt', why: options.why } as const;
      for (const node of nodes) await markNode(session, node, { adopt: name, dryRun }, person);
    }
    const text =
      names.length === 0
        ? `${name}: no node that it selects was assigned its config by hand; nothing to adopt`
        : dryRun
          ? `${name}: would adopt ${namesOf(names)}; nothing was changed (dry run)`
          : `${name}: adopted ${namesOf(names)}; 'relet rollout status ${name} -w' follows it`;
    terminal.print(hanging(text, terminal));
    printResult(terminal, options, { set: name, verb: 'adopt', nodes: names, ...(dryRun && { dryRun }) });
  });

async function selectedBy({ references, signal }: Session, { spec }: NodeConfigSet): Promise<ConfiguredNode[]> {
  const labelSelector = selectorText(spec.selector);
  const found: ConfiguredNode[] = [];
  for await (const page of references.pages({ ...(labelSelector && { labelSelector }), signal })) found.push(...page);
  return found;
}

/** All that were assigned by hand, or those that were named: also one of another set. Throws if a name is not selected. */
export function adoptable(
  selected: readonly ConfiguredNode[],
  set: string,
  names: readonly string[],
): ConfiguredNode[] {
  const missing = names.filter((name) => !selected.some((node) => node.name === name));
  if (missing.length > 0)
    throw new CannotRun(
      `the set ${set} does not select ${namesOf(missing)}; it can only have nodes with the labels of its selector`,
    );
  const isOwn = (node: ConfiguredNode) => {
    const membership = membershipOf(node);
    return membership?.claim.set === set && !membership.isTaken;
  };
  return selected.filter((node) => (names.length > 0 ? names.includes(node.name) && !isOwn(node) : isByHand(node)));
}

function whose(node: ConfiguredNode): string {
  const membership = membershipOf(node);
  const source = formatRef(refOf(node.configSource), 'short');
  const isLetGo = node.claim?.released && refOf(node.configSource) !== undefined && !isByHand(node);
  if (isLetGo) return `let go by the set ${node.claim?.set}, assigned ${source}`;
  if (membership === undefined) return `assigned ${source} by hand`;
  return membership.isTaken
    ? `taken from the set ${membership.claim.set}, assigned ${source}`
    : `of the set ${membership.claim.set}`;
}
