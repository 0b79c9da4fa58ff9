/**
 * Nodes as verbs get them: a node writes its own status, so nothing in it is trusted to be one line of plain text. Escaped here, where
 * it comes in, a value cannot forge lines in any sentence that a verb puts it in, nor in what a program prints from `-o json`.
 */
import type { ConfigReferences, ConfiguredNode } from '../fleet/config-references.js';
import { oneLine } from '../visible-text.js';

export function readableNodes(references: ConfigReferences): ConfigReferences {
  return {
    kind: references.kind,
    get: async (name, options) => readable(await references.get(name, options)),
    async *pages(options) {
      for await (const page of references.pages(options)) yield page.map(readable);
    },
    follow: ({ onList, onChange, ...rest }) =>
      references.follow({
        ...rest,
        onList: (present) => onList(present.map(readable)),
        onChange: (node, gone) => onChange(readable(node), gone),
      }),
    assign: async (node, source, options) => readable(await references.assign(node, source, options)),
  };
}

/** The history is JSON, and is read as such. */
const readable = (node: ConfiguredNode): ConfiguredNode => ({ ...texts(node), history: node.history });

function texts<T>(value: T): T {
  if (typeof value === 'string') return oneLine(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(texts) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [oneLine(key), texts(part)])) as T;
}
