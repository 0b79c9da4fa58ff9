/**
 * `relet release NODE...`: returns nodes to their sets. Ends a hold of `relet hold`; a node that was changed with --take-from-set goes
 * back to its set, which assigns its config again.
 */

import { isForbidden } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { holdText, releaseHint } from '../../fleet/state-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, whoAmI, withResultSession } from '../session.js';
import { hanging } from '../terminal/terminal.js';
import { markNode } from './mark-node.js';

export interface ReleaseOptions extends ConnectionOptions {
  why?: string;
  output?: 'json';
}

export const release = (words: string[], options: ReleaseOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const { references, terminal, signal } = session;
    const results: object[] = [];
    let by: string | undefined;
    for (const name of new Set(words.map(nodeName))) {
      const node = await references.get(name, { signal });
      const membership = membershipOf(node);
      if (membership === undefined && node.hold === undefined) throw nothingToRelease(node);
      const set = membership?.claim.set;
      const isTaken = membership?.isTaken ?? false;
      by ??= await whoAmI(session);
      const mark = { ...(node.hold && { hold: null }), ...(set !== undefined && isTaken && { adopt: set }) };
      if (Object.keys(mark).length > 0)
        await explainingForbidden(node, markNode(session, node, mark, { by, verb: 'release', why: options.why }));
      terminal.print(hanging(`${name}: ${releasedText(node, set, isTaken)}`, terminal));
      results.push({
        node: name,
        ...(set !== undefined && { set }),
        released: isTaken,
        ...(node.hold !== undefined && { holdEnded: true }),
      });
    }
    if (options.output === 'json')
      terminal.printDocument(
        JSON.stringify({ apiVersion: 'cli.relet.dev/v1', kind: 'ReleaseResult', nodes: results }, null, 2),
      );
  });

function releasedText({ hold }: ConfiguredNode, set: string | undefined, isTaken: boolean): string {
  const parts = hold === undefined ? [] : [`no longer ${holdText(hold)}`];
  if (isTaken)
    parts.push(`released to the set ${set}, which assigns its config again; 'relet rollout status ${set}' shows when`);
  else if (set !== undefined && hold === undefined) parts.push(`is with its set ${set} already`);
  return parts.join('. It is ');
}

async function explainingForbidden(node: ConfiguredNode, releasing: Promise<void>): Promise<void> {
  try {
    await releasing;
  } catch (error) {
    if (!isForbidden(error) || !node.hold?.on.includes('Node')) throw error;
    throw new CannotRun(
      `${node.name} is still held: its hold is on the Node, which you may not change (${(error as Error).message}). Who may change Nodes removes it with: kubectl annotate node ${node.name} relet.dev/hold-`,
    );
  }
}

function nothingToRelease({ name, held }: ConfiguredNode): CannotRun {
  const onHost = held === undefined ? '' : ` It is held on its host; ${releaseHint}.`;
  return new CannotRun(
    `${name} is not held through the API, and was taken from no set.${onHost} 'relet rollout adopt SET ${name}' gives a node to a set`,
  );
}
