/** Reads something of many nodes, some at the same time. */
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import type { Session } from '../session.js';
import { showProgress } from '../terminal/progress.js';

/** Kubelets asked at the same time. */
const mostAsked = 8;

/** In the order of the nodes. With many, a line shows how far it is. */
export async function readAll<T>(
  { terminal }: Session,
  nodes: ConfiguredNode[],
  read: (node: ConfiguredNode) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  const progress = showProgress(terminal, () => performance.now(), { isQuietInPipe: true });
  let [next, done] = [0, 0];
  const worker = async () => {
    for (let at = next++; at < nodes.length; at = next++) {
      found[at] = await read(nodes[at]!);
      done++;
      if (nodes.length > mostAsked) progress.at('Reading', `what runs now, ${done} of ${nodes.length} nodes`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAsked, nodes.length) }, worker));
  } finally {
    progress.close();
  }
  return found;
}
