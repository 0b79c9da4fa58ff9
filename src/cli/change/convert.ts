/** `relet convert`: nodes with a whole config get an overlay that means the same over their local config. */
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { isOverlay } from '../../config/overlay.js';
import { convertToOverlay } from '../../fleet/payload.js';
import { readConfigDocument } from '../config/documents.js';
import { selectNodes, withSession } from '../session.js';
import { terminalFor } from '../terminal/terminal.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import { assignedText, type NodeNow, newTarget, readNow } from './plan.js';

export interface ConvertOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
  /** A file with the local config of nodes that do not report theirs. */
  local?: string;
}

export const convert = (names: string[], options: ConvertOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
      const file = options.local === undefined ? undefined : await readConfigDocument(options.local);
      const all = await readNow(session, nodes, file && { local: file.text });
      const wishes = all.map((now) => {
        const assigned = assignedText(now);
        const already = assigned === undefined ? 'is on its local config' : 'is assigned an overlay already';
        return { now, target: newTarget(overlayFor(now, assigned)), already };
      });
      await changeTo(session, 'convert', wishes, { ...options, question: (which) => `Convert ${which}?` });
    },
    terminalFor(options),
  );

/** A whole config as an overlay; what is none stays as it is. Undefined: nothing is left of it but the local config. */
export function overlayFor({ node, local, minor }: NodeNow, text: string | undefined): string | undefined {
  if (text === undefined || isOverlay(text)) return text;
  if (local === undefined)
    throw new CannotRun(
      `the local config of ${node.name} is not known: no agent reports it, and its kubelet runs something else or cannot be asked. Copy the file of its kubelet's --config from the host, and name it: relet convert ${node.name} --local FILE`,
    );
  try {
    return convertToOverlay(text, local, { minor, pinned: node.pinnedByFlags ?? [] });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CannotRun(
      `${node.name} is assigned a config that cannot be read (${error.message}); correct it with 'relet edit ${node.name}'`,
    );
  }
}
