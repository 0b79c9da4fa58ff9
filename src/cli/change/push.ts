/** `relet push FILE`: a config as an immutable ConfigMap, named by its content as kubectl would name it. */
import { isUtf8 } from 'node:buffer';
import { CannotRun } from '../../cannot-run.js';
import { check } from '../../config/check.js';
import { type ConfigMap, defaultKey, defaultName, ensureConfigMap, newConfigMap } from '../../fleet/config-maps.js';
import type { ConnectionOptions, KubeletVersion } from '../command-line.js';
import { readBytes } from '../config/documents.js';
import { type Session, withSession } from '../session.js';
import { errorLines } from './new-text.js';

export interface PushOptions extends ConnectionOptions {
  name?: string;
  key?: string;
  kubeletVersion: KubeletVersion;
  validate: boolean;
  dryRun?: 'none' | 'client' | 'server';
  output?: 'name' | 'json';
}

export const push = (file: string, options: PushOptions): Promise<void> =>
  withSession(options, async (session) => {
    const bytes = read(file, options);
    const { name = defaultName, key = defaultKey } = options;
    const wanted = newConfigMap({ name, namespace: session.namespace, key, bytes });
    if (options.dryRun === 'client') return printMade(session, wanted, 'created (dry run)', options);
    const dryRun = options.dryRun === 'server';
    const { created, configMap } = await ensureConfigMap(session, wanted, { dryRun });
    printMade(session, configMap, `${created ? 'created' : 'unchanged'}${dryRun ? ' (server dry run)' : ''}`, options);
  });

/** The file's bytes, unchanged: the name is their hash. */
function read(file: string, { validate, kubeletVersion }: PushOptions): Uint8Array {
  const bytes = readBytes(file);
  if (!validate) return bytes;
  if (!isUtf8(bytes)) throw new CannotRun(`${file} is not valid UTF-8, and a kubelet reads nothing else`);
  const { minor } = kubeletVersion;
  const { findings } = check(bytes.toString('utf8'), { minor, file });
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return bytes;
  throw new CannotRun(
    `kubelet 1.${minor} would not run with ${file}, so nothing was pushed:\n${errorLines(errors)}\nUse --kubelet-version to check against another version, or --no-validate to push it anyway`,
  );
}

function printMade({ terminal }: Session, configMap: ConfigMap, done: string, { output }: PushOptions): void {
  const { name, namespace } = configMap.metadata;
  if (output === 'name') terminal.print(`configmap/${name}`);
  else if (output === 'json') terminal.print(JSON.stringify(configMap, null, 2));
  else terminal.print(`configmap/${name} ${done} in namespace ${namespace}`);
}
