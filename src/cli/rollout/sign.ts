/**
 * `relet rollout sign FILE|SET`: signs the config of a set, in its manifest or in the cluster. The payload becomes text and stays byte
 * for byte the same; so the revision stays too, and no kubelet restarts. A new statement or another signature is distributed with the
 * ConfigMap of the next attempt.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Document, parseAllDocuments, Scalar } from 'yaml';
import type { SignedConfig } from '../../api/node-config-set.js';
import { replaceFile } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import { readPayload } from '../../fleet/config-maps.js';
import { gitOwner } from '../../rollout/requests.js';
import { payloadOf } from '../../rollout/revision.js';
import type { ConnectionOptions } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { printDropped } from '../config/sign.js';
import { whyUnreadable } from '../read-file.js';
import { withResultSession } from '../session.js';
import { readSetFacts, signedConfig } from '../sign/set.js';
import { type SigningResult, type StatementOptions, statementText } from '../sign/statement.js';
import { printError, terminalFor } from '../terminal/terminal.js';
import { writeManifest } from './as-set.js';
import { isFile, parseSet } from './plan.js';
import { readSet, setName } from './read-set.js';
import { printResult, type ResultOutput } from './result.js';

export interface SignSetOptions extends ConnectionOptions, StatementOptions {
  keyFile: string;
  output?: ResultOutput;
}

export const signSet = (word: string, options: SignSetOptions): Promise<void> =>
  isFile(word) ? signManifest(word, options) : signInCluster(setName(word), options);

async function signManifest(file: string, options: SignSetOptions): Promise<void> {
  if (file === '-') throw new CannotRun('the signature is written into the file, so name a file');
  const text = readBytes(file).toString('utf8');
  const { metadata, spec } = await parseSet(text, file);
  const payload = payloadOf(spec.config);
  if (payload === undefined)
    throw new CannotRun(
      `${file}: the set ${metadata.name} has its config in a ConfigMap; sign that with 'relet config sign' and 'relet push', or write overlay or whole`,
    );
  const { signed, result } = await signedConfig(spec.config, payload, options);
  try {
    replaceFile(file, manifestWith(text, signed), { mode: 0o644 });
  } catch (error) {
    throw new CannotRun(`cannot write ${file}: ${whyUnreadable((error as Error).cause ?? error)}`);
  }
  const terminal = terminalFor(options);
  terminal.print(`${file}: set ${metadata.name}, ${resultText(result)}`);
  printDropped(result);
  printResult(terminal, options, { set: metadata.name, verb: 'sign', signed: result.keys });
}

/** Comments and order of the rest stay, and whether `{a: 1}` has spaces within. */
function manifestWith(text: string, signed: SignedConfig): string {
  const documents = parseAllDocuments(text) as Document[];
  for (const document of documents) {
    if (document.get('kind') !== 'NodeConfigSet') continue;
    const block = (value: string) => Object.assign(new Scalar(value), { type: Scalar.BLOCK_LITERAL });
    const { payload, statement, signatures } = signed;
    const value = { payload: block(payload), statement: block(statement), signatures: signatures.map(block) };
    document.setIn(['spec', 'config'], document.createNode({ signed: value }));
  }
  const flowCollectionPadding = /[[{] /.test(text);
  return documents.map((document) => document.toString({ lineWidth: 0, flowCollectionPadding })).join('');
}

const signInCluster = (name: string, options: SignSetOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const set = await readSet(session, name);
    const { config } = set.spec;
    const payload = payloadOf(config) ?? (await readPayload(session, config.configMap!)).text;
    const facts = await readSetFacts(session, set, payload);
    const { signed, result } = await signedConfig(config, payload, options, facts);
    if (isDeepStrictEqual(signed, config.signed)) {
      session.terminal.print(`nodeconfigset/${name} is signed like that already`);
      return printResult(session.terminal, options, { set: name, verb: 'sign', signed: result.keys });
    }
    await writeManifest(session, { ...set, spec: { ...set.spec, config: { signed } } }, set);
    session.terminal.print(`nodeconfigset/${name} signed: ${resultText(result)}`);
    printDropped(result);
    if ((set.status?.failedNodes ?? 0) > 0)
      printError(`relet: 'relet rollout retry ${name}' assigns it again where it has failed`);
    const owner = gitOwner(set);
    if (owner !== undefined)
      printError(
        `relet: warning: ${owner} applies ${name} from Git and will undo this at its next sync; sign the manifest there`,
      );
    printResult(session.terminal, options, { set: name, verb: 'sign', signed: result.keys });
  });

const resultText = ({ facts, keys }: SigningResult): string => `${statementText(facts)}; signed by ${keys.join(', ')}`;
