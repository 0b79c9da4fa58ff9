/** `relet view NODE`: prints one of a node's configs. If the API does not have it, the error says where to find it. */

import { CannotRun } from '../../cannot-run.js';
import { encode } from '../../config/encode.js';
import type { Minor } from '../../config/model.js';
import { isOverlay, overlayHeader } from '../../config/overlay.js';
import { readWritten } from '../../fleet/config-text.js';
import { minorOf } from '../../fleet/node-configs.js';
import { documentNames, nodeDocument } from '../../fleet/node-documents.js';
import { readOverlay } from '../../fleet/payload.js';
import type { ConnectionOptions } from '../command-line.js';
import { nodeName, withSession } from '../session.js';
import { printError } from '../terminal/terminal.js';

export interface ViewOptions extends ConnectionOptions {
  assigned?: boolean;
  active?: boolean;
  lastKnownGood?: boolean;
  local?: boolean;
  effective?: boolean;
  output?: 'json';
}

export const view = (name: string, options: ViewOptions): Promise<void> =>
  withSession(options, async (session) => {
    const asked = documentNames.filter((one) => options[one]);
    if (asked.length > 1) throw new CannotRun('one config at a time: keep one of the options');
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const { text, withoutFlags } = await nodeDocument(session, node, asked[0] ?? 'effective');
    if (withoutFlags)
      printError(
        `relet: flags of the kubelet are not in this: the kubelet of ${node.name} cannot be asked (nodes/proxy)`,
      );
    session.terminal.printDocument(options.output === 'json' ? asJson(text, minorOf(node)) : text);
  });

const asJson = (text: string, minor: Minor): string =>
  encode(isOverlay(text) ? { ...overlayHeader, ...readOverlay(text, minor) } : readWritten(text, minor));
