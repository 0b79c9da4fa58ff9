/** `relet apiserver backup` and `restore`: everything the server holds, in one file and back. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pkg from '../../package.json' with { type: 'json' };
import { replaceFile } from '../atomic-file.js';
import { CannotRun } from '../cannot-run.js';
import { systemClock } from '../clock.js';
import { readPlain } from '../config/plain-document.js';
import { systemFileReader } from '../kube/cached-file.js';
import { createClient } from '../kube/client.js';
import { kubeconfigSource } from '../kube/identity-source.js';
import { backupPath, backupStopped } from '../lab/apiserver/backup/backup.js';
import { BackupError, decodeBackup } from '../lab/apiserver/backup/backup-format.js';
import { restore } from '../lab/apiserver/backup/restore.js';
import { silentLog } from '../log.js';
import { Locked } from '../process-lock.js';
import { systemRandom } from '../random.js';
import { runVerb, verb } from './command-line.js';
import { writeOut } from './terminal/terminal.js';

const dataDirFlag = ['--data-dir <DIR>', 'the directory of relet apiserver'] as const;

export async function run([which, ...args]: string[]): Promise<void> {
  const command =
    which === 'backup'
      ? verb('relet apiserver backup', 'Write everything the API server holds to a file, while it runs or not.')
          .argument('<FILE>', 'where to; replaced when there is one. Holds Secrets: keep it as safe as they are')
          .requiredOption(...dataDirFlag)
          .action((file: string, { dataDir }: { dataDir: string }) => backup(file, dataDir))
      : verb('relet apiserver restore', 'Make the store of an API server, which must not run, from a backup.')
          .argument('<FILE>', "what 'relet apiserver backup' wrote")
          .requiredOption(...dataDirFlag)
          .option('--force', 'put a store that is there already aside', false)
          .action((file: string, flags: { dataDir: string; force: boolean }) => restoreFrom(file, flags));
  await runVerb(command, args);
}

async function backup(file: string, dataDir: string): Promise<void> {
  const bytes = await backupStopped(dataDir, systemClock).catch((error: unknown) => {
    if (error instanceof Locked) return backupRunning(dataDir);
    throw new CannotRun((error as Error).message, { cause: error });
  });
  const { revision, items } = await decodeBackup(bytes);
  replaceFile(file, bytes);
  writeOut(`wrote ${items.length} objects at revision ${revision} to ${file}\n`);
}

/** Of a server that runs, asked as its administrator. */
async function backupRunning(dataDir: string): Promise<Buffer> {
  const source = kubeconfigSource({
    paths: [join(dataDir, 'admin.kubeconfig')],
    mustExist: true,
    readYaml: readPlain,
    files: systemFileReader,
    env: {},
    clock: systemClock,
    log: silentLog,
  });
  const client = createClient({ source, clock: systemClock, random: systemRandom, userAgent: `relet/${pkg.version}` });
  try {
    return await buffer(await client.open({ method: 'GET', path: backupPath, accept: '*/*' }));
  } finally {
    client.close();
  }
}

async function restoreFrom(file: string, { dataDir, force }: { dataDir: string; force: boolean }): Promise<void> {
  try {
    const found = await decodeBackup(readFileSync(file));
    const aside = await restore(found, { dataDir, force, now: new Date(systemClock.now()) });
    if (aside !== undefined) writeOut(`the store that was there is now ${aside}\n`);
    writeOut(`restored ${found.items.length} objects of revision ${found.revision} into ${dataDir}\n`);
  } catch (error) {
    const why = error instanceof BackupError ? `${file}: ${error.message}` : (error as Error).message;
    throw new CannotRun(why, { cause: error });
  }
}
