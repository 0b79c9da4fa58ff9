/** `relet rollout plan FILE|SET`: what a set would do, before it is applied or merged. Changes nothing. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { CannotRun } from '../../cannot-run.js';
import { systemClock } from '../../clock.js';
import { isObject, jsonText } from '../../json.js';
import { readManifests } from '../../lab/manifests.js';
import { setErrors } from '../../lab/rehearsal/check-set.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { deployDir } from '../node/kubelet-command.js';
import { type Session, withSession } from '../session.js';
import { terminalFor } from '../terminal/terminal.js';
import { planSet } from './plan-set.js';
import { planObject, planText } from './plan-text.js';
import { findSet, readSet, setName } from './read-set.js';

export interface PlanOptions extends ConnectionOptions {
  /** Milliseconds. */
  trial: number;
  output?: 'json';
}

export const plan = (word: string, options: PlanOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const { terminal } = session;
      const set = isFile(word) ? await setInFile(session, word) : await readSet(session, setName(word));
      const found = await planSet(session, set, { trialMs: options.trial });
      if (options.output === 'json') terminal.printDocument(jsonText(planObject(found), 2));
      else terminal.print(planText(found, terminal, { trialMs: options.trial }));
      if (found.stalled !== undefined) process.exitCode = 1;
    },
    terminalFor(options),
  );

export const isFile = (word: string): boolean => word === '-' || /\.(ya?ml|json)$/.test(word) || existsSync(word);

/** With the status of the set in the cluster, where there is one: what it has done already is not done again. */
async function setInFile(session: Session, file: string): Promise<NodeConfigSet> {
  const set = parseSet(readBytes(file).toString('utf8'), file === '-' ? 'standard input' : file);
  const present = await findSet(session, set.metadata.name);
  if (present === undefined) return set;
  const { creationTimestamp, uid } = present.metadata;
  const metadata = { ...set.metadata, ...(creationTimestamp && { creationTimestamp }), ...(uid && { uid }) };
  return { ...set, metadata, ...(present.status && { status: present.status }) };
}

/** The one set in a file; other objects in it are not of interest. */
export function parseSet(text: string, file: string): NodeConfigSet {
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
  const manifests = readManifests(join(deployDir(), 'base'));
  const [wrong] = setErrors(rest, { manifests, clock: systemClock });
  if (wrong !== undefined) throw new CannotRun(`${file}: ${oneLine(wrong)}`);
  return rest;
}
