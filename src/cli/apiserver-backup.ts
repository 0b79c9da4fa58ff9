/** `relet apiserver backup` and `restore`: all objects of the server in one file, and restored from it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import pkg from '../../package.json' with { type: 'json' };
import { replaceFile } from '../atomic-file.js';
import { CannotRun } from '../cannot-run.js';
import { systemClock } from '../clock.js';
import { readPlain } from '../config/plain-document.js';
import { createClient } from '../kube/client.js';
import { kubeconfigSource } from '../kube/identity.js';
import { systemFileReader } from '../kube/kubeconfig.js';
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
      ? verb('relet apiserver backup', 'Write all objects of the API server to a file. It may be running or not.')
          .argument('<FILE>', 'the file to write; an existing one is replaced. It contains Secrets: protect it')
          .requiredOption(...dataDirFlag)
          .action((file: string, { dataDir }: { dataDir: string }) => backup(file, dataDir))
      : verb(
          'relet apiserver restore',
          'Create the store of an API server from a backup. The server must not be running.',
        )
          .argument('<FILE>', "a file of 'relet apiserver backup'")
          .requiredOption(...dataDirFlag)
          .option('--force', 'replace an existing store; it is renamed, not deleted', false)
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

/** From a running server, as its administrator. */
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
    if (aside !== undefined) writeOut(`the earlier store is now ${aside}\n`);
    writeOut(`restored ${found.items.length} objects of revision ${found.revision} into ${dataDir}\n`);
  } catch (error) {
    const why = error instanceof BackupError ? `${file}: ${error.message}` : (error as Error).message;
    throw new CannotRun(why, { cause: error });
  }
}
