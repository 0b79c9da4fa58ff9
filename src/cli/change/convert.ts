/** `relet convert`: replaces the whole configs of nodes by overlays with the same effect over their local config. */
import { readConfigDocument } from '../config/documents.js';
import { selectNodes, withResultSession } from '../session.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import { assignedText, newTarget, overlayFor, readNow } from './plan.js';

export interface ConvertOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
  /** A file with the local config of nodes that do not report theirs. */
  local?: string;
}

export const convert = (names: string[], options: ConvertOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    const file = options.local === undefined ? undefined : await readConfigDocument(options.local);
    const all = await readNow(session, nodes, file && { local: file.text });
    const requested = all.map((now) => {
      const assigned = assignedText(now);
      const already = assigned === undefined ? 'is on its local config' : 'is assigned an overlay already';
      return { now, target: newTarget(overlayFor(now, assigned)), already };
    });
    await changeTo(session, 'convert', requested, { ...options, question: (which) => `Convert ${which}?` });
  });
