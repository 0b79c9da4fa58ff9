/** `relet rollout plan FILE|SET`: shows what a set would do, before it is applied or merged. Changes nothing. */
import { existsSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { CannotRun } from '../../cannot-run.js';
import { isObject } from '../../json.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { deployDir } from '../node/kubelet-command.js';
import { type Session, withResultSession } from '../session.js';
import { writeResult } from '../terminal/output.js';
import { planSet } from './plan-set.js';
import { planObject, planText } from './plan-text.js';
import { findSet, readSet, setName } from './read-set.js';
import type { ShownOutput } from './result.js';

export interface PlanOptions extends ConnectionOptions {
  /** Milliseconds. */
  trial?: number;
  output?: ShownOutput;
}

export const plan = (word: string, options: PlanOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const { terminal } = session;
    const set = isFile(word) ? await setInFile(session, word) : await readSet(session, setName(word));
    const found = await planSet(session, set, { trialMs: options.trial });
    const { output } = options;
    const names = found.waves.flatMap((wave) => wave.names.map((name) => `node/${name}`));
    if (output !== undefined && output !== 'wide')
      terminal.printDocument(writeResult(output, planObject(found), names));
    else terminal.print(planText(found, terminal, { isWide: output === 'wide' }));
    if (found.stalled !== undefined || found.rejections.length > 0) process.exitCode = 1;
  });

export const isFile = (word: string): boolean => word === '-' || /\.(ya?ml|json)$/.test(word) || existsSync(word);

/** With the status of the set in the cluster, where there is one: what it has done already is not done again. */
async function setInFile(session: Session, file: string): Promise<NodeConfigSet> {
  const set = await parseSet(readBytes(file).toString('utf8'), file === '-' ? 'standard input' : file);
  const present = await findSet(session, set.metadata.name);
  if (present === undefined) return set;
  const { creationTimestamp, uid } = present.metadata;
  const metadata = { ...set.metadata, ...(creationTimestamp && { creationTimestamp }), ...(uid && { uid }) };
  return { ...set, metadata, ...(present.status && { status: present.status }) };
}

/** The one set in a file; other objects in it are not of interest. */
export async function parseSet(text: string, file: string): Promise<NodeConfigSet> {
  const documents = parseAllDocuments(text);
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw new CannotRun(`${file}: ${error.message.split('\n')[0]}`);
  const sets = documents
    .map((one): unknown => one.toJS())
    .filter((one) => isObject(one) && one.kind === 'NodeConfigSet');
  const [set, ...others] = sets as Partial<NodeConfigSet>[];
  if (set === undefined) throw new CannotRun(`${file} has no NodeConfigSet in it`);
  if (others.length > 0) throw new CannotRun(`${file} has ${sets.length} NodeConfigSets; keep one of them`);
  if (!isObject(set.metadata) || typeof set.metadata.name !== 'string')
    throw new CannotRun(`${file}: the NodeConfigSet has no metadata.name`);
  if (!isObject(set.spec) || !isObject(set.spec.selector) || !isObject(set.spec.config))
    throw new CannotRun(`${file}: the NodeConfigSet needs spec.selector and spec.config`);
  const { status: _, ...rest } = set as NodeConfigSet;
  const { firstError } = await import('./set-errors.js');
  const wrong = firstError(rest, deployDir());
  if (wrong !== undefined) throw new CannotRun(`${file}: ${oneLine(wrong)}`);
  return rest;
}
