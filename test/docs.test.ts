/** Every command that README.md and docs/ show does what they show. How a page is written for this: page-blocks.ts. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Block, type Command, outputPattern, readBlocks } from './page-blocks.js';
import { executable } from './run-relet.js';

const root = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** A directory for one page, with `relet` on the path and among the modules, as an installation would put it there. */
function workplace(): { dir: string; run(command: Command): void } {
  const dir = mkdtempSync(join(tmpdir(), 'relet-docs-'));
  const bin = join(dir, '.bin');
  mkdirSync(bin);
  for (const name of ['relet', 'kubectl-relet']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  symlinkSync(join(root, 'examples'), join(dir, 'examples'));
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(root, join(dir, 'node_modules', 'relet'));
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: dir };
  return {
    dir,
    run({ command, status, output }) {
      const ended = spawnSync('sh', ['-c', `exec 2>&1\n${command}`], { cwd: dir, env, encoding: 'utf8' });
      expect({ command, printed: ended.stdout, status: ended.status }).toEqual({
        command,
        printed: ended.stdout,
        status,
      });
      if (output !== undefined) expect(ended.stdout).toMatch(outputPattern(output));
    },
  };
}

describe.each(pages)('%s', (page) => {
  const blocks = readBlocks(readFileSync(join(root, page), 'utf8'));
  const { dir, run } = workplace();
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('shows commands only in blocks that are run', () => {
    expect(readFileSync(join(root, page), 'utf8')).not.toMatch(/^```(bash|shell|zsh)\b/m);
  });

  for (const block of blocks) {
    if (block.kind === 'file') test(`file ${block.name}`, () => write(dir, block));
    else {
      const why =
        block.notRun ?? (block.needs !== undefined && !has(block.needs) ? `${block.needs} not found` : undefined);
      for (const command of block.commands) {
        const title = `line ${command.line}: ${command.command.split('\n')[0]}`;
        test.skipIf(why !== undefined)(why === undefined ? title : `${title} (skipped: ${why})`, () => run(command));
      }
    }
  }
});

function write(dir: string, { name, text }: Extract<Block, { kind: 'file' }>): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
  expect(readFileSync(join(dir, name), 'utf8')).toBe(text);
}
