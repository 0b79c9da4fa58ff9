/** The documents of a node for tests, made as on a real node, with the local files that the test gives. */
import { Documents } from '../src/agent/documents.js';
import type { NodeState } from '../src/agent/state/node-state.js';
import { makeDocument } from '../src/agent/validate/host-validator.js';

export function testDocuments(state: NodeState, local: () => Record<string, string> = () => ({})): Documents {
  return new Documents({
    state,
    localFiles: () => Object.entries(local()).map(([path, text]) => ({ path, data: Buffer.from(text) })),
    make: async (from) => makeDocument(from),
    version: '0.0.0',
  });
}
