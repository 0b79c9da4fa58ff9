/** `relet push FILE`: stores a config as an immutable ConfigMap whose name is a hash of its content, as kubectl would name it. */
import { isUtf8 } from 'node:buffer';
import type { ConfigMap } from '../../api/object.js';
import { isForbidden } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import { check } from '../../config/check.js';
import { checkOverlay } from '../../config/check-overlay.js';
import { emptyDocument } from '../../config/header.js';
import { type Finding, knownMinor, type Minor, newestMinor, parseMinor } from '../../config/model.js';
import { isOverlay, otherObject } from '../../config/overlay.js';
import { contentOf, sameContent } from '../../config/signing/statement.js';
import { errorLines } from '../../fleet/acceptance.js';
import { defaultKey, defaultName, ensureConfigMap, isPresent, newConfigMap } from '../../fleet/config-maps.js';
import { type Node, nodeLists } from '../../fleet/configured-node.js';
import { nodes } from '../../kube/resource-type.js';
import { signingKeys } from '../../rollout/signed-config.js';
import { oneLine } from '../../visible-text.js';
import type { ConnectionOptions, KubeletVersion } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { printDropped } from '../config/sign.js';
import { type Session, withSession } from '../session.js';
import { readSigned, statementFile } from '../sign/signed-file.js';
import { factsOf, type StatementOptions, statementOptions } from '../sign/statement.js';
import { printError } from '../terminal/terminal.js';
import { signConfigMap, withSignatures } from './sign-plans.js';

export interface PushOptions extends ConnectionOptions, StatementOptions {
  /** The SSH key to sign with. */
  sign?: string;
  name?: string;
  key?: string;
  /** Without it, the versions of the nodes. */
  kubeletVersion?: KubeletVersion;
  validate: boolean;
  dryRun?: 'none' | 'client' | 'server';
  output?: 'name' | 'json';
}

export const push = (file: string, options: PushOptions): Promise<void> =>
  withSession(options, async (session) => {
    const bytes = await read(session, file, options);
    const { name = defaultName, key = defaultKey } = options;
    const unsigned = newConfigMap({ name, namespace: session.namespace, key, bytes });
    const { wanted, by } = await signed(session, unsigned, file, options);
    if (options.dryRun === 'client') {
      const done = (await isPresent(session, wanted)) ? 'unchanged' : 'created';
      return printMade(session, wanted, `${done} (dry run)`, by, options);
    }
    const dryRun = options.dryRun === 'server';
    const made = await ensureConfigMap(session, wanted, { dryRun });
    const done = made.created ? 'created' : made.signed ? 'signed' : 'unchanged';
    printMade(session, made.configMap, `${done}${dryRun ? ' (server dry run)' : ''}`, by, options);
  });

/** With the signatures that are beside the file, or a new one; `by`: their keys. */
async function signed(
  session: Session,
  configMap: ConfigMap,
  file: string,
  { sign: key, ...options }: PushOptions,
): Promise<{ wanted: ConfigMap; by: string[] }> {
  const beside = file === '-' ? undefined : readSigned(file);
  if (key !== undefined) {
    const { configMap: wanted, result } = await signConfigMap(session, configMap, {
      ...statementOptions(options),
      key,
      beside,
    });
    printDropped(result);
    return { wanted, by: result.keys };
  }
  if (Object.keys(statementOptions(options)).length > 0)
    throw new CannotRun(
      '--pools, --serial, --floor, --no-return, --not-before, --not-after and --annotation go with --sign KEY',
    );
  if (beside === undefined) return { wanted: configMap, by: [] };
  const facts = factsOf(beside.statement);
  const content = contentOf({ ...configMap, annotations: facts.annotations });
  const keys = signingKeys(beside.statement, beside.signatures.join(''));
  if (!sameContent(content, facts) || keys.length === 0)
    throw new CannotRun(
      `${statementFile(file)} is ${keys.length === 0 ? 'not signed' : `not about these bytes under the key ${Object.keys(configMap.data ?? {})[0]}`}, so nothing was pushed: 'relet config sign ${file} -f KEY' signs it, or remove the statement`,
    );
  return { wanted: withSignatures(configMap, { ...beside, facts }), by: keys };
}

/** The file's bytes, unchanged: the name is their hash. */
async function read(session: Session, file: string, { validate, kubeletVersion }: PushOptions): Promise<Uint8Array> {
  const bytes = readBytes(file);
  if (!validate) return bytes;
  if (!isUtf8(bytes)) throw new CannotRun(`${file} is not valid UTF-8, and a kubelet reads nothing else`);
  refuseOtherObjects(bytes.toString('utf8'), file);
  const minors = kubeletVersion === undefined ? await minorsOfNodes(session) : [kubeletVersion.minor];
  const errors = errorsFor(bytes.toString('utf8'), file, minors);
  if (errors.length === 0) return bytes;
  const failing = minors.filter((minor) => errors.some((error) => error.minors.includes(minor)));
  const lines = errorLines(
    errors.map(({ minors: some, ...error }) =>
      some.length === minors.length ? error : { ...error, message: `${error.message} (${kubelets(some)})` },
    ),
  );
  const would = `${kubelets(failing)} would not run with ${file}`;
  if (failing.length === minors.length)
    throw new CannotRun(
      `${would}, so nothing was pushed:\n${lines}\nUse --kubelet-version to check against another version, or --no-validate to push it anyway`,
    );
  // Nodes of one version may have a config of their own; 'relet assign' validates for each node again.
  printError(`relet: ${would}; do not assign it to nodes of that version:\n${lines}`);
  return bytes;
}

/** The kubelet's own message about another kind names a scheme of Go, and no way on. */
function refuseOtherObjects(text: string, file: string): void {
  const other = otherObject(text);
  if (other === undefined) return;
  const ways: Record<string, string> = {
    NodeConfigSet: `'relet rollout plan ${file}' previews it, 'kubectl apply -f ${file}' applies it`,
    ConfigMap: `'kubectl apply -f ${file}' stores it as it is, 'relet config validate ${file}' checks the config in it`,
  };
  const way = ways[other.kind] ?? `'kubectl apply -f ${file}' applies it`;
  throw new CannotRun(
    `${file} is a ${oneLine(other.kind)} (${oneLine(other.apiVersion)}), so nothing was pushed: push stores a KubeletConfiguration or a KubeletConfigurationOverlay. ${way}`,
  );
}

const kubelets = (minors: readonly Minor[]): string => `kubelet ${minors.map((minor) => `1.${minor}`).join(' and ')}`;

/** The versions of the cluster's kubelets, oldest first. Where they cannot be known, the newest that relet knows, which is reported. */
async function minorsOfNodes({ client, signal }: Session): Promise<Minor[]> {
  const minors = new Set<Minor>();
  let why = 'there are no nodes';
  try {
    for await (const { items } of client.pages<Node>(nodes, { ...nodeLists, signal }))
      for (const { status } of items) {
        const minor = parseMinor(status?.nodeInfo?.kubeletVersion ?? '');
        if (minor !== undefined) minors.add(knownMinor(minor));
      }
  } catch (error) {
    if (!isForbidden(error)) throw error;
    why = 'you may not list nodes';
  }
  if (minors.size > 0) return [...minors].sort((a, b) => a - b);
  printError(`relet: ${why}, so it is validated for kubelet 1.${newestMinor}; --kubelet-version chooses another`);
  return [newestMinor];
}

/** Errors that are the same for several versions are one. An overlay is checked over an empty local config: each node has its own. */
function errorsFor(text: string, file: string, minors: readonly Minor[]): (Finding & { minors: Minor[] })[] {
  const local = isOverlay(text) ? [{ path: '/var/lib/kubelet/config.yaml', text: emptyDocument }] : undefined;
  const found = new Map<string, Finding & { minors: Minor[] }>();
  for (const minor of minors) {
    const options = { minor, file };
    const { findings } = local === undefined ? check(text, options) : checkOverlay(text, { ...options, local });
    for (const finding of findings.filter(({ severity }) => severity === 'error')) {
      const key = `${finding.line}:${finding.path}:${finding.message}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { ...finding, minors: [minor] });
      else if (!known.minors.includes(minor)) known.minors.push(minor);
    }
  }
  return [...found.values()].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function printMade(
  { terminal }: Session,
  configMap: ConfigMap,
  done: string,
  by: string[],
  { output }: PushOptions,
): void {
  const { name, namespace } = configMap.metadata;
  if (output === 'name') terminal.print(`configmap/${name}`);
  else if (output === 'json') terminal.print(JSON.stringify(configMap, null, 2));
  else
    terminal.print(
      `configmap/${name} ${done} in namespace ${namespace}${by.length > 0 ? `, signed by ${by.join(', ')}` : ''}`,
    );
}
