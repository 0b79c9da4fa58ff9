/**
 * The new config of a node, as text: what it is made from, what it changes, and which errors it has.
 *
 * `set` and `edit` start from the config that the node is assigned, as it is in its ConfigMap; where that is the local one, from
 * what the API shows of it. `/configz` itself is never stored: it has values of one host in it.
 *
 *   assigned, and not failed ─► its ConfigMap
 *   failed ─► set: what runs;  edit: the config that failed, so that it can be corrected
 */
import { formatRef, refOf } from '../../api/config-ref.js';
import { CannotRun } from '../../cannot-run.js';
import { check } from '../../config/check.js';
import { DecodeError, decode } from '../../config/decode.js';
import { type Finding, getField, type KubeletConfig } from '../../config/model.js';
import { withSetting } from '../../config/set-field.js';
import { readPayload } from '../../fleet/config-maps.js';
import { asConfigText, type RunningConfig, readWritten } from '../../fleet/config-text.js';
import { type ConfiguredNode, configState } from '../../fleet/configured-node.js';
import {
  askConfigz,
  minorOf,
  type PinnedField,
  pinnedNow,
  readActive,
  unreadable,
  writtenLocally,
} from '../../fleet/effective-config.js';
import { asYaml } from '../../go/yaml/write.js';
import { ApiError } from '../../kube/api-error.js';
import type { Session } from '../session.js';
import { type Difference, differencesOf } from '../terminal/change-text.js';
import { showProgress } from '../terminal/progress.js';

export interface StartingPoint {
  /** As it is written; a person may edit it. */
  text: string;
  /** What differences are shown against. The same, unless `text` is a config that failed. */
  before: string;
  /** Everything that runs, where the kubelet could be asked. */
  running: KubeletConfig | undefined;
  /** Fields that flags of the kubelet set, where that is known. */
  pinned: PinnedField[];
  /** The assigned config that does not run: any change replaces it, also one that changes nothing that runs. */
  failed: { source: string; state: 'rejected' | 'rolled back' } | undefined;
  notes: string[];
}

type Written = Pick<StartingPoint, 'text' | 'notes'>;

/** Throws with the reason and what to do where the API shows no config of the node. */
export async function startingPoint(
  session: Session,
  node: ConfiguredNode,
  verb: 'set' | 'edit',
): Promise<StartingPoint> {
  const state = configState(node);
  const source = formatRef(refOf(node.configSource), 'short');
  const failed = state === 'rejected' || state === 'rolled back' ? { source, state } : undefined;
  const [configz, assigned] = [await askConfigz(session, node), await readAssigned(session, node)];
  const running = configz instanceof ApiError ? undefined : configz.document;
  const pinned = running === undefined ? [] : await pinnedNow(session, node, running);
  const known = { running, pinned, failed };
  if (assigned !== undefined && failed === undefined) return { ...assigned, before: assigned.text, ...known };
  const runs = await whatRuns(session, node, configz, pinned);
  const start = verb === 'edit' && failed && assigned ? assigned : runs;
  return { ...start, before: runs.text, ...known };
}

async function whatRuns(
  session: Session,
  node: ConfiguredNode,
  configz: RunningConfig | ApiError,
  pinned: PinnedField[],
): Promise<Written> {
  const minor = minorOf(node);
  const active = await readActive(session, node);
  if (active !== undefined) return { text: active.text, notes: [] };
  if (configz instanceof ApiError) throw unreadable(node, configz);
  const paths = pinned.map(({ path }) => path);
  const { document, assumed } = writtenLocally(configz.document, paths, minor);
  const notExpressible = configz.notExpressible.filter((path) => !paths.includes(path));
  return {
    text: asConfigText(document, minor),
    notes: [
      ...(notExpressible.length > 0
        ? [`flags set these to what no config can express, so they stay: ${notExpressible.join(', ')}.`]
        : []),
      // relet on the node knows its local config, and warns when that names them.
      ...(assumed.length > 0 && node.agentVersion === undefined
        ? [
            `${assumed.join(' and ')} are left out: by their names the kubelet made these files itself. If its local config names them, set them too.`,
          ]
        : []),
    ],
  };
}

/** Undefined where it is local, or cannot be read. */
async function readAssigned(session: Session, node: ConfiguredNode): Promise<Written | undefined> {
  const ref = refOf(node.configSource);
  if (ref === undefined) return undefined;
  try {
    return { text: (await readPayload(session, ref)).text, notes: [] };
  } catch (error) {
    if (error instanceof ApiError || error instanceof CannotRun) return undefined;
    throw error;
  }
}

export interface NewText extends Pick<StartingPoint, 'running' | 'pinned' | 'failed' | 'notes'> {
  node: ConfiguredNode;
  text: string;
  differences: Difference[];
}

/** The new text for a node, and what it changes. Old values are those that run, where they can be read. */
export function newText(node: ConfiguredNode, { before, text: _, ...start }: StartingPoint, text: string): NewText {
  const minor = minorOf(node);
  const read = (document: string) => decode(document, { minor, strict: false }).config;
  const after = read(text);
  const { running } = start;
  const now =
    running && new Map(differencesOf(read(asYaml(running)), after, minor).map(({ path, from }) => [path, from]));
  const differences = differencesOf(read(before), after, minor).map((difference) =>
    now?.has(difference.path) ? { ...difference, from: now.get(difference.path) } : difference,
  );
  return { ...start, node, text, differences };
}

/** The errors of a text for this node's kubelet, without warnings. Where a flag sets a value, the value of the flag is checked. */
export function errorsIn(node: ConfiguredNode, text: string, running?: KubeletConfig): Finding[] {
  const minor = minorOf(node);
  const errors = (document: string) =>
    check(document, { minor }).findings.filter(({ severity }) => severity === 'error');
  const found = errors(text);
  const pinned = running === undefined ? [] : (node.pinnedByFlags ?? []);
  if (found.length === 0 || pinned.length === 0) return found;
  try {
    const withFlags = pinned.reduce(
      (document, path) => withSetting(document, { path: path.split('.'), value: getField(running!, path) }),
      readWritten(text, minor),
    );
    const left = new Set(errors(asConfigText(withFlags, minor)).map(({ path, message }) => `${path}\n${message}`));
    return found.filter(({ path, message }) => left.has(`${path}\n${message}`));
  } catch (error) {
    if (error instanceof DecodeError) return found;
    throw error;
  }
}

/** Throws where the node's kubelet would not run with the text. */
export function rejectErrors(node: ConfiguredNode, text: string, running?: KubeletConfig): void {
  const errors = errorsIn(node, text, running);
  if (errors.length === 0) return;
  throw new CannotRun(
    `the kubelet of ${node.name} (${node.kubeletVersion || 'version unknown'}) would not run with that, so nothing was changed:\n${errorLines(errors)}`,
  );
}

export const errorLines = (errors: readonly Finding[]): string =>
  errors
    .map(
      ({ path, message, remedy }) => `  ${path === '' ? '' : `${path}: `}${message}${remedy ? `\n    ${remedy}` : ''}`,
    )
    .join('\n');

/** Kubelets asked at the same time. */
const mostAsked = 8;

/** Reads something of each node, in the order of the nodes. With many, a line shows the progress. */
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
