/** Data of a node's page, read with the credential of the session: what `relet describe`, `view`, `history` and `diff` print. */
import { formatRef, parseRef, refOf } from '../../api/config-ref.js';
import { ApiError } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { isWithin } from '../../config/field-path.js';
import { impactSentence } from '../../config/impact-sentence.js';
import type { KubeletConfig } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { hasFailed, isMark, readHistory, undoTarget } from '../../fleet/config-history.js';
import { readPayload } from '../../fleet/config-maps.js';
import { type ConfiguredNode, membershipOf } from '../../fleet/configured-node.js';
import { minorOf, nodeConfigReader } from '../../fleet/node-configs.js';
import { type DocumentName, documentChanges, documentNames, nodeDocument } from '../../fleet/node-documents.js';
import { configEvents, readNodeFacts } from '../../fleet/node-facts.js';
import { entryBy, historyOf, resultSentence, type ShownEntry } from '../../fleet/node-history.js';
import { documentOf } from '../../fleet/payload.js';
import { summarize } from '../../fleet/preview.js';
import { readSets } from '../../fleet/read-sets.js';
import { holdText, owedText, signingText, stateSentence, troubleOf } from '../../fleet/state-text.js';
import { outdatedBy } from '../../rollout/target.js';
import { oneLine } from '../../visible-text.js';
import type { ConfigDiff, ConfigDocument, ConfigName, NodeDetails, NodeVerb } from '../wire.js';
import { commandText } from './commands.js';
import { diffOf } from './config-diff.js';
import { badRequest } from './problem.js';
import type { Reader } from './reader.js';
import { rowOf } from './row.js';

type Cluster = Parameters<typeof nodeDocument>[0];

export async function nodeDetails(reader: Reader, name: string): Promise<NodeDetails> {
  const { references, may, signal } = reader;
  const node = await references.get(name, { signal });
  const [configs, events, sets] = await Promise.all([
    readConfigs(reader, node),
    configEvents(reader, name),
    readSets(reader),
  ]);
  const { error, reason } = troubleOf(node);
  const known = { nowMs: reader.nowMs, isOutdated: outdatedBy(sets) };
  const sentence = stateSentence(node, known.nowMs);
  const { cause, unitNotice, upgradeRisk, bootRisk } = node;
  return {
    row: rowOf(node, known),
    labels: node.labels,
    agentVersion: node.agentVersion ?? '',
    driver: node.driver ?? '',
    sentence,
    ...(error !== '' && {
      error: { reason: reason ?? '', message: error, ...(cause !== undefined && { cause }), remedy: sentence },
    }),
    ...(node.held && { held: node.held }),
    ...(node.hold && { hold: holdText(node.hold).slice('held '.length) }),
    ...(node.owed && { owed: { text: owedText(node.owed, node.owed.left), since: node.owed.at } }),
    ...(node.signing && { signed: signingText(node.signing) }),
    notices: [unitNotice, upgradeRisk, bootRisk].filter((one) => one !== undefined),
    pinnedByFlags: node.pinnedByFlags ?? [],
    warnings: node.warnings,
    configs,
    kubeletLog: (node.kubeletLog ?? []).map(oneLine),
    history: historyOf(node).map(shownEntry),
    events,
    commands: [
      { verb: 'describe', command: commandText(['describe', name]) },
      { verb: 'view', command: commandText(['view', name]) },
      { verb: 'history', command: commandText(['history', name]) },
      { verb: 'doctor', command: commandText(['doctor', name]) },
    ],
    actions: may.changeNodes ? nodeActions(node) : [],
  };
}

function shownEntry(entry: ShownEntry): NodeDetails['history'][number] {
  const { revision, at, verb, from, to, why } = entry;
  const result = resultSentence(entry);
  const isFailed = entry.result !== undefined && hasFailed(entry.result);
  return { revision, at, by: entryBy(entry), verb, from, to, ...(why && { why }), result, isFailed };
}

/** Actions that would have an effect now. */
export function nodeActions(node: ConfiguredNode): NodeDetails['actions'] {
  const { name } = node;
  const history = readHistory(node);
  const isTaken = membershipOf(node)?.isTaken === true;
  // Commands refuse to change a node that somebody holds.
  const isFree = node.hold === undefined;
  const target = undoTarget(history, refOf(node.configSource));
  // By its number: when the node is changed meanwhile, undo alone would go elsewhere.
  const to = history.find((entry) => entry.to === target?.to && !isMark(entry))?.revision;
  const offered: [NodeVerb, string[], boolean][] = [
    ['set', ['set', name, 'FIELD=VALUE'], isFree],
    ['undo', ['undo', name, ...(to === undefined ? [] : ['--to', String(to)])], isFree && target !== undefined],
    ['reset', ['reset', name], isFree && node.configSource !== undefined],
    // Without a NodeConfig there is nothing that could be held.
    ['hold', ['hold', name], isFree && node.version !== ''],
    ['release', ['release', name], isTaken || !isFree],
    ['dismiss', ['dismiss', name], node.owed !== undefined],
  ];
  return offered.flatMap(([verb, words, isOffered]) => {
    if (!isOffered) return [];
    return [{ verb, command: commandText(words), ...(verb === 'undo' && to !== undefined && { to }) }];
  });
}

async function readConfigs(cluster: Cluster, node: ConfiguredNode): Promise<Record<ConfigName, ConfigDocument>> {
  const entries = await Promise.all(
    documentNames.map(async (which): Promise<[ConfigName, ConfigDocument]> => {
      const source = sourceOf(node, which);
      if (source === unknown && which !== 'effective')
        return [which, { source, problem: 'No agent has ever reported.' }];
      try {
        const { text } = await nodeDocument(cluster, node, which);
        return [which, { source, text, isOverlay: isOverlay(text) }];
      } catch (error) {
        return [which, { source, problem: explained(error) }];
      }
    }),
  );
  return Object.fromEntries(entries) as Record<ConfigName, ConfigDocument>;
}

const unknown = 'unknown';

/** A node that has never reported: only what it should run is known. */
export function sourceOf({ status, configSource, reports }: ConfiguredNode, which: DocumentName): string {
  if (which === 'local') return 'local';
  if (!reports && which !== 'assigned') return unknown;
  const source = which === 'effective' ? status.active : status[which];
  return formatRef(refOf(source ?? (which === 'assigned' ? configSource : undefined)), 'short');
}

/** The rest of the node is shown also where a config is not known. Throws other errors. */
function explained(error: unknown): string {
  if (error instanceof ApiError || error instanceof CannotRun || error instanceof DecodeError)
    return oneLine(error.message);
  throw error;
}

/** `from` and `to`: one of the configs of the node, or NAMESPACE/NAME/KEY of a ConfigMap, such as one of its history. */
export async function nodeDiff(
  cluster: Cluster,
  name: string,
  { from, to }: { from: string; to: string },
): Promise<ConfigDiff> {
  const node = await cluster.references.get(name, { signal: cluster.signal });
  const minor = minorOf(node);
  const [before, after, facts] = await Promise.all([
    readDocument(cluster, node, from),
    readDocument(cluster, node, to),
    readNodeFacts(cluster, name),
  ]);
  const changes = documentChanges({ before, after, minor, facts });
  const pinned = node.pinnedByFlags ?? [];
  const isPinned = (path: string) => pinned.some((field) => isWithin(path, field));
  const impact = impactSentence(summarize(changes.filter(({ path }) => !isPinned(path))));
  const all = diffOf({ from, to, changes });
  const marked = all.changes.map((change) => (isPinned(change.path) ? { ...change, pinnedByFlag: true } : change));
  return { ...all, changes: marked, impact };
}

/** As the kubelet of the node would be started with it; an overlay is merged into its local config. */
async function readDocument(cluster: Cluster, node: ConfiguredNode, word: string): Promise<KubeletConfig> {
  const isName = (documentNames as readonly string[]).includes(word);
  const ref = isName ? undefined : parseRef(word);
  if (!isName && ref === undefined)
    throw badRequest(
      `'${oneLine(word)}' is not one of ${documentNames.join(', ')}, nor NAMESPACE/NAME/KEY of a ConfigMap.`,
    );
  const text =
    ref === undefined
      ? (await nodeDocument(cluster, node, word as DocumentName)).text
      : (await readPayload(cluster, ref)).text;
  const minor = minorOf(node);
  const { local, active } = isOverlay(text) ? await nodeConfigReader(cluster).read(node) : {};
  try {
    const document = documentOf(text, local ?? active, minor);
    if (document !== undefined) return document;
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`${oneLine(word)}: ${oneLine(error.message)}`);
    throw error;
  }
  throw new CannotRun(
    `${oneLine(word)} is an overlay, and the local config of ${node.name} that it is merged into is not known: its agent does not report it`,
  );
}
