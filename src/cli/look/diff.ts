/** `relet diff NODE [FILE|CONFIGMAP|OTHER-NODE]`: what differs by meaning, and what that change would need on the node. */

import { existsSync } from 'node:fs';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError, decode } from '../../config/decode.js';
import { findConfigMap } from '../../fleet/config-maps.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { filledIn, isPinned, minorOf, pinnedNow, readEffective } from '../../fleet/effective-config.js';
import { isNotFound } from '../../kube/api-error.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { readConfigDocument } from '../config/documents.js';
import { nodeName, type Session, withSession } from '../session.js';
import {
  type Difference,
  differencesAsJson,
  differencesAsText,
  differencesOf,
  shown,
} from '../terminal/change-text.js';
import { wrap } from '../terminal/styled-text.js';
import type { Terminal } from '../terminal/terminal.js';
import { textOf } from './view.js';

export interface DiffOptions extends ConnectionOptions {
  key?: string;
  output: 'text' | 'json';
}

export const diff = (name: string, other: string | undefined, options: DiffOptions): Promise<void> =>
  withSession(options, async (session) => {
    const { terminal } = session;
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    const { text, running } = await readEffective(session, node);
    const against = other === undefined ? await assignedText(session, node) : await textFor(session, other, options);
    const pinned = running === undefined || against.runs ? [] : await pinnedNow(session, node, running);
    const differences = compare(text, against, node).map((difference) =>
      isPinned(difference.path, pinned) ? { ...difference, pinnedByFlag: true as const } : difference,
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

interface Other {
  title: string;
  text: string;
  /** It is what another node runs, with the flags of that node. */
  runs?: true;
}

function compare(text: string, { text: other, title }: Other, node: ConfiguredNode) {
  const minor = minorOf(node);
  const read = (document: string) => decode(document, { minor, strict: false }).config;
  try {
    return differencesOf(read(text), read(other), minor).filter(({ path, to }) => !(filledIn.has(path) && to === ''));
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`${title}: ${error.message}`);
    throw error;
  }
}

async function assignedText(session: Session, node: ConfiguredNode): Promise<Other> {
  if (node.configSource === undefined)
    throw new CannotRun(
      `${node.name} is on its local config, so there is nothing to compare; name a file, a ConfigMap or another node`,
    );
  return { title: `${node.name}, as assigned`, text: await textOf(session, node, 'assigned') };
}

/** A file that exists; what a prefix says; else a node of that name, else a ConfigMap. */
async function textFor(session: Session, word: string, { key }: DiffOptions): Promise<Other> {
  const [, prefix, rest] = /^(nodes?|no|configmaps?|cm)\/(.+)$/.exec(word) ?? [];
  const fromConfigMap = async (name: string) => ({
    title: `ConfigMap ${name}`,
    text: (await findConfigMap(session, name, key)).text,
  });
  const fromNode = async (name: string) => {
    const node = await session.references.get(nodeName(name), { signal: session.signal });
    return { title: `${name}, as it runs`, text: (await readEffective(session, node)).text, runs: true as const };
  };
  const fromFile = async (path: string) => ({ title: path, text: (await readConfigDocument(path)).text });
  if (prefix !== undefined) return prefix.startsWith('no') ? fromNode(rest!) : fromConfigMap(rest!);
  if (word === '-' || existsSync(word)) return fromFile(word);
  // What looks like a file, and is not there: read it all the same, for the words that say so.
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
