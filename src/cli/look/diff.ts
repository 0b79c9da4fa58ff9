/** `relet diff NODE [FILE|CONFIGMAP|OTHER-NODE]`: what differs by meaning, and what that change would need on the node. */
import { existsSync } from 'node:fs';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { isWithin } from '../../config/field-path.js';
import type { KubeletConfig } from '../../config/model.js';
import { findConfigMap } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { minorOf, type NodeConfigReader, nodeConfigReader } from '../../fleet/node-configs.js';
import { documentChanges, nodeDocument } from '../../fleet/node-documents.js';
import { readNodeFacts } from '../../fleet/node-facts.js';
import { documentOf } from '../../fleet/payload.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { readConfigDocument } from '../config/documents.js';
import { nodeName, type Session, withSession } from '../session.js';
import { asDifference, type Difference, differencesAsJson, differencesAsText, shown } from '../terminal/change-text.js';
import { type Terminal, wrap } from '../terminal/terminal.js';

export interface DiffOptions extends ConnectionOptions {
  key?: string;
  output: 'text' | 'json';
}

export const diff = (name: string, other: string | undefined, options: DiffOptions): Promise<void> =>
  withSession(options, async (session) => {
    const { terminal } = session;
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const reader = nodeConfigReader(session);
    const { document } = await reader.runningOrActive(node);
    const against = other === undefined ? await assignedText(session, node) : await textFor(session, other, options);
    const pinned = against.kind === 'document' ? [] : (node.pinnedByFlags ?? []);
    const after = await documentFor(reader, node, against);
    const facts = await readNodeFacts(session, node.name);
    const differences = documentChanges({ before: document, after, minor: minorOf(node), facts })
      .map(asDifference)
      .map((difference) =>
        pinned.some((field) => isWithin(difference.path, field))
          ? { ...difference, pinnedByFlag: true as const }
          : difference,
      );
    const changing = differences.filter(({ pinnedByFlag }) => !pinnedByFlag);
    if (options.output === 'json') terminal.print(differencesAsJson(differences));
    else {
      terminal.print(terminal.paint.bold(`--- ${node.name}, as it runs\n+++ ${against.title}`));
      terminal.print(differencesAsText(changing, terminal));
      const kept = differences.filter(({ pinnedByFlag }) => pinnedByFlag);
      if (kept.length > 0) terminal.print(pinnedText(kept, terminal));
    }
    process.exitCode = changing.length === 0 ? 0 : 1;
  });

function pinnedText(kept: Difference[], { columns }: Terminal): string {
  const lines = kept.map(({ path, from, to }) => `${oneLine(path)}: stays ${shown(from)}, not ${shown(to)}`);
  return [
    `\n${wrap('Flags of the kubelet pin these fields, so they do not change:', columns)}`,
    ...lines.map((line) => wrap(line, columns, '    ')),
  ].join('\n');
}

/** A payload, or the document that another node runs, with the flags of that node. */
type Other = { title: string } & ({ kind: 'text'; text: string } | { kind: 'document'; document: KubeletConfig });

/** The document that the node would be started with; an overlay is merged into its local config. */
async function documentFor(reader: NodeConfigReader, node: ConfiguredNode, other: Other): Promise<KubeletConfig> {
  if (other.kind === 'document') return other.document;
  const { local, active, minor } = await reader.read(node);
  try {
    // If the local config is not known, the running config is nearest to it.
    const document = documentOf(other.text, local ?? active, minor);
    if (document !== undefined) return document;
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`${other.title}: ${error.message}`);
    throw error;
  }
  throw new CannotRun(
    `${other.title} is an overlay, and the local config of ${node.name} that it is merged into is not known: its agent does not report it; 'relet view ${node.name} --assigned' prints the overlay`,
  );
}

async function assignedText(session: Session, node: ConfiguredNode): Promise<Other> {
  if (node.configSource === undefined)
    throw new CannotRun(
      `${node.name} is on its local config, so there is nothing to compare; name a file, a ConfigMap or another node`,
    );
  return {
    kind: 'text',
    title: `${node.name}, as assigned`,
    text: (await nodeDocument(session, node, 'assigned')).text,
  };
}

/** A file that exists; what a prefix says; else a node of that name, else a ConfigMap. */
async function textFor(session: Session, word: string, { key }: DiffOptions): Promise<Other> {
  const [, prefix, rest] = /^(nodes?|no|configmaps?|cm)\/(.+)$/.exec(word) ?? [];
  const fromConfigMap = async (name: string): Promise<Other> => ({
    kind: 'text',
    title: `ConfigMap ${name}`,
    text: (await findConfigMap(session, name, key)).text,
  });
  const fromNode = async (name: string): Promise<Other> => {
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const { document } = await nodeConfigReader(session).runningOrActive(node);
    return { kind: 'document', title: `${name}, as it runs`, document };
  };
  const fromFile = async (path: string): Promise<Other> => ({
    kind: 'text',
    title: path,
    text: (await readConfigDocument(path)).text,
  });
  if (prefix !== undefined) return prefix.startsWith('no') ? fromNode(rest!) : fromConfigMap(rest!);
  if (word === '-' || existsSync(word)) return fromFile(word);
  // A word that looks like a file that is not there: read it all the same, for the error that names it.
  if (/^[./~]|\.(ya?ml|json)$/.test(word)) return fromFile(word);
  if (word.includes('/')) return fromConfigMap(word);
  try {
    return await fromNode(word);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  try {
    return await fromConfigMap(word);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CannotRun(
      `'${word}' is not a file here, a node, or a ConfigMap in namespace ${session.namespace}; write node/NAME or configmap/NAME to say which`,
    );
  }
}
