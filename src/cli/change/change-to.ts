/**
 * From new texts for nodes to the change: judged as each node's kubelet would, shown by meaning, confirmed, then made.
 * What `edit` and `set` share.
 */
import { CannotRun } from '../../cannot-run.js';
import { check } from '../../config/check.js';
import { DecodeError } from '../../config/decode.js';
import { type Finding, getField, type KubeletConfig } from '../../config/model.js';
import { withSetting } from '../../config/set-field.js';
import { asConfigText, readWritten } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { askRunning, minorOf, pinnedFields } from '../../fleet/effective-config.js';
import type { ConnectionOptions } from '../connection-flags.js';
import type { Session } from '../session.js';
import { type ChangeOptions, makeChanges } from './change.js';
import { configMapsFor } from './config-maps-for.js';
import { confirm } from './confirm.js';
import { type NewText, note, showDifferences } from './preview.js';

export interface ChangeVerbOptions extends ConnectionOptions, ChangeOptions {
  yes?: boolean;
  name?: string;
  key?: string;
}

export async function changeTo(
  session: Session,
  verb: string,
  texts: NewText[],
  options: ChangeVerbOptions,
): Promise<void> {
  const { terminal, namespace } = session;
  const isChange = ({ differences, failed }: NewText) => differences.length > 0 || failed !== undefined;
  const unchanged = texts.filter((text) => !isChange(text)).map(({ node }) => node);
  for (const { name } of unchanged) terminal.print(`${name}: has that already, nothing to change`);
  const wanted = texts.filter(isChange);
  if (wanted.length === 0) return makeChanges(session, verb, [], options, unchanged);
  for (const { node, text, running } of wanted) refuseErrors(node, text, running);
  const changes = configMapsFor(wanted, { name: options.name, key: options.key, namespace });
  await showDifferences(session, wanted);
  const who = wanted.length === 1 ? wanted[0]!.node.name : `${wanted.length} nodes`;
  if (!isDryRun(options) && !(await confirm(session, `Change ${who}?`, options.yes))) return decline(session);
  await makeChanges(session, verb, changes, options, unchanged);
  if (!isDryRun(options) && options.wait) await tellPinned(session, wanted);
}

export const isDryRun = ({ dryRun }: ChangeOptions): boolean => dryRun !== undefined && dryRun !== 'none';

export function decline({ terminal }: Session): void {
  terminal.print('Nothing was changed.');
  process.exitCode = 1;
}

/** The errors of a text for this node's kubelet; warnings are left out. Where a flag has the value, the flag's counts. */
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

export function refuseErrors(node: ConfiguredNode, text: string, running?: KubeletConfig): void {
  const errors = errorsIn(node, text, running);
  if (errors.length === 0) return;
  const lines = errors.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`).join('\n');
  throw new CannotRun(
    `the kubelet of ${node.name} (${node.kubeletVersion || 'version unknown'}) would not run with that, so nothing was changed:\n${lines}`,
  );
}

/** After the change: what was asked for and does not run, since a flag of the kubelet wins. */
async function tellPinned(session: Session, texts: NewText[]): Promise<void> {
  if (process.exitCode) return;
  for (const { node, text, differences } of texts) {
    const running = await askRunning(session, node);
    if (running === undefined) continue;
    const asked = new Set(differences.map(({ path }) => path));
    for (const { path, runs } of pinnedFields(text, running, minorOf(node)).filter((field) => asked.has(field.path))) {
      const value = JSON.stringify(runs, (_key, part) => (typeof part === 'bigint' ? Number(part) : part)) ?? 'unset';
      session.terminal.print(
        note(session.terminal, `${node.name}: ${path} stays ${value}: a flag of the kubelet pins it.`),
      );
    }
  }
}
