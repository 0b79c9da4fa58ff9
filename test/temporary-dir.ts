/** A directory that is removed when its test ends; made outside of tests, when all tests of the file have ended. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

export function temporaryDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'relet-test-')));
  const end = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  end(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
