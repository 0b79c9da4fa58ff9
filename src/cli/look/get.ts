/** `relet get`: one row per node. Nodes are listed page by page, and only the shown fields are kept. */

import { setFlagsFromString } from 'node:v8';
import { isNotFound } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { followSets, readSets } from '../../fleet/read-sets.js';
import type { Known } from '../../fleet/state-text.js';
import { byName } from '../../natural-order.js';
import { outdatedBy, Targets } from '../../rollout/target.js';
import type { ConnectionOptions } from '../command-line.js';
import { followServer } from '../follow-server.js';
import { checkSelector, nodeName, type Session, withSession } from '../session.js';
import { type ObjectFormat, parseFormat, sortByPath, tableLines, writeObjects } from '../terminal/output.js';
import { printError, type Terminal, writeOut } from '../terminal/terminal.js';
import { type NodeObject, type NodeRow, nodeObject, nodeRow, rowColumns } from './node-row.js';

export interface GetOptions extends ConnectionOptions {
  output?: string;
  selector?: string;
  sortBy?: string;
  watch?: boolean;
  headers: boolean;
  showLabels?: boolean;
}

export const get = (words: string[], options: GetOptions): Promise<void> => {
  const format = parseFormat(options.output);
  if (options.selector !== undefined) checkSelector(options.selector);
  const names = [...new Set(words.map(nodeName))];
  if (names.length > 0 && options.selector !== undefined)
    throw new CannotRun('names of nodes and --selector do not go together; keep one of them');
  return withSession(options, (session) =>
    options.watch ? watch(session, names, format, options) : show(session, names, format, options),
  );
};

/** Sort keys with a short name. */
const shortPaths: Record<string, string> = {
  name: '.metadata.name',
  age: '.status.configuredAt',
  state: '.status.state',
  version: '.status.kubeletVersion',
  assigned: '.spec.configSource.configMap.name',
  active: '.status.active.configMap.name',
  error: '.status.error',
  set: '.status.set',
};

function sortPath(word: string): string {
  if (Object.hasOwn(shortPaths, word)) return shortPaths[word]!;
  if (/^[.{$]/.test(word)) return word;
  throw new CannotRun(
    `--sort-by ${word}: choose one of ${Object.keys(shortPaths).join(', ')}, or a JSONPath such as .metadata.name`,
  );
}

async function show(session: Session, names: string[], format: ObjectFormat | undefined, options: GetOptions) {
  const path = options.sortBy === undefined ? undefined : sortPath(options.sortBy);
  // Pages of thousands of nodes are garbage once they are rows: space for young objects that grows to 48 MB saves no time.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Keeps only what is needed, since there may be thousands of nodes.
  const rows: NodeRow[] = [];
  const objects: NodeObject[] = [];
  const known = { nowMs: Date.now(), isOutdated: outdatedBy(await readSets(session)) };
  const missing = await collect(session, names, options, (node) => {
    if (format === undefined) rows.push(rowOf(node, known, session.terminal, options));
    if (format !== undefined || path !== undefined) objects.push(nodeObject(node, known));
  });
  // Those that were named stay in their order.
  if (names.length === 0) rows.sort(byName);
  if (names.length === 0) objects.sort((a, b) => byName(a.metadata, b.metadata));
  const sorted = path === undefined ? objects : sortByPath(objects, path);
  if (format === undefined) {
    const order = new Map(sorted.map(({ metadata }, at) => [metadata.name, at]));
    printRows(
      session,
      path === undefined ? rows : rows.sort((a, b) => order.get(a.name)! - order.get(b.name)!),
      options,
    );
  } else {
    const text = writeObjects(format, { resource: 'node', objects: sorted, single: names.length === 1 });
    // As kubectl, a template ends where it ends.
    if (format.kind === 'jsonpath') writeOut(text);
    else session.terminal.print(text);
  }
  refuseMissing(missing);
  if (format === undefined && rows.length === 0) printError('relet: no nodes found');
}

function rowOf(
  node: ConfiguredNode,
  known: Known,
  { width }: Terminal,
  { output, showLabels = false }: GetOptions,
): NodeRow {
  const wide = output === 'wide';
  return nodeRow(node, known, { wide, labels: showLabels, short: width !== undefined && !wide });
}

/** SET only where a node has one. */
const columnsOf = ({ paint }: Terminal, { output, showLabels = false }: GetOptions, sets: boolean, signed = false) =>
  rowColumns({ wide: output === 'wide', labels: showLabels, sets, signed, paint });

const hasSet = ({ set }: NodeRow): boolean => set !== '';

function printRows({ terminal }: Session, rows: NodeRow[], options: GetOptions): void {
  if (rows.length === 0) return;
  const columns = columnsOf(
    terminal,
    options,
    rows.some(hasSet),
    rows.some(({ signed }) => signed !== ''),
  );
  const width = options.output === 'wide' ? undefined : terminal.width;
  terminal.print(tableLines(columns, rows, width, { headers: options.headers }).join('\n'));
}

/** Returns the names that are not there. */
async function collect(
  { references, signal }: Session,
  names: string[],
  { selector }: GetOptions,
  onNode: (node: ConfiguredNode) => void,
): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names)
    try {
      onNode(await references.get(name, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      missing.push(name);
    }
  if (names.length > 0) return missing;
  const scope = selector === undefined ? {} : { labelSelector: selector };
  for await (const page of references.pages({ ...scope, signal })) for (const node of page) onNode(node);
  return missing;
}

function refuseMissing(missing: string[]): void {
  if (missing.length === 0) return;
  const named = missing.map((name) => `'${name}'`).join(', ');
  throw new CannotRun(`there is no node ${named}; 'relet get' lists them`);
}

/** Rows as they change, until Ctrl-C. A heartbeat that changes nothing that is shown prints nothing. */
async function watch(session: Session, names: string[], format: ObjectFormat | undefined, options: GetOptions) {
  const { terminal, references, signal } = session;
  if (format !== undefined && format.kind !== 'json' && format.kind !== 'name')
    throw new CannotRun(`--watch goes with a table, -o wide, -o name and -o json, not with -o ${format.kind}`);
  let columns = columnsOf(terminal, options, false);
  let showsSets = false;
  const widths = new Map<string, number>();
  const last = new Map<string, string>();
  let headers = options.headers;
  const shown = new Map<string, ConfiguredNode>();
  const targets = new Targets();
  const printNews = (nodes: ConfiguredNode[]) => {
    const known = { nowMs: Date.now(), isOutdated: targets.isOutdated };
    const rows = nodes.filter(isWanted).map((node) => ({ node, row: rowOf(node, known, terminal, options) }));
    const news = rows.filter(({ row: { age: _, ...rest } }) => {
      const text = JSON.stringify({ ...rest, state: rest.state.replace(/^silent .*/, 'silent') });
      const isNew = last.get(rest.name) !== text;
      last.set(rest.name, text);
      return isNew;
    });
    if (news.length === 0) return;
    if (format?.kind === 'json') for (const { node } of news) terminal.print(JSON.stringify(nodeObject(node, known)));
    else if (format?.kind === 'name') for (const { node } of news) terminal.print(`node/${node.name}`);
    else {
      if (!showsSets && news.some(({ row }) => hasSet(row))) {
        showsSets = true;
        columns = columnsOf(terminal, options, true);
        headers = options.headers;
      }
      const width = options.output === 'wide' ? undefined : terminal.width;
      const lines = tableLines(
        columns,
        news.map(({ row }) => row),
        width,
        { headers, widths },
      );
      headers = false;
      terminal.print(lines.join('\n'));
    }
  };
  followSets(session, (sets) => {
    if (targets.update(sets)) printNews([...shown.values()]);
  });
  /** Only nodes that were shown are in `last`. */
  const forget = (name: string) => {
    shown.delete(name);
    if (last.delete(name) && format === undefined) terminal.print(`${name}   deleted`);
  };
  const isWanted = ({ name }: ConfiguredNode) => names.length === 0 || names.includes(name);
  const [only] = names;
  await references.watch({
    signal,
    ...(names.length === 1 && only !== undefined && { name: only }),
    ...(options.selector !== undefined && { labelSelector: options.selector }),
    onList(present) {
      const there = new Set(present.map(({ name }) => name));
      for (const name of last.keys()) if (!there.has(name)) forget(name);
      for (const node of present) shown.set(node.name, node);
      printNews([...present].sort(byName));
    },
    onChange(node, gone) {
      if (gone) return forget(node.name);
      shown.set(node.name, node);
      printNews([node]);
    },
    onFailure: followServer(session),
  });
}
