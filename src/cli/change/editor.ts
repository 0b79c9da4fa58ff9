/** Hands a text to the person's editor, and takes it back. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CannotRun } from '../../cannot-run.js';

export interface EditedFile {
  path: string;
  /** Writes the text, waits until the editor is closed, reads it back. */
  edit(text: string): Promise<string>;
  /** What the file holds now; '' when it is not there. */
  present(): string;
  remove(): void;
}

/** In a directory nobody else can read: a config may name secrets. */
export function openEditedFile(name: string, env: Record<string, string | undefined>): EditedFile {
  const dir = mkdtempSync(join(tmpdir(), 'relet-edit-'));
  const path = join(dir, `${name.replace(/[^\w.-]/g, '_')}.yaml`);
  return {
    path,
    async edit(text) {
      writeFileSync(path, text, { mode: 0o600 });
      await runEditor(env.KUBE_EDITOR || env.EDITOR || 'vi', path);
      return readFileSync(path, 'utf8');
    },
    present: () => (existsSync(path) ? readFileSync(path, 'utf8') : ''),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Through a shell, since people put flags and quotes into $EDITOR. */
function runEditor(editor: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) return resolve();
      const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
      reject(
        new CannotRun(
          `the editor '${editor}' ${how}, so nothing was changed; choose another with KUBE_EDITOR or EDITOR`,
        ),
      );
    });
  });
}
