/** Every command that README.md and docs/ show does what they show. How a page is written for this: page-blocks.ts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { type Block, type Command, outputPattern, readBlocks } from './page-blocks.js';
import { PageShell } from './page-shell.js';
import { has } from './programs.js';

const root = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** `kubectl proxy` listens there; in a test on a port that is free. */
const proxyPort = '8001';

/** Runs a command of a page, and checks that it ends and prints as the page shows. */
async function check(shell: PageShell, { status, ...shown }: Command, way: Way): Promise<void> {
  const port = String(await way.port);
  const [command, output] = [shown.command, shown.output].map((text) => text?.replaceAll(proxyPort, port));
  if (command === undefined) throw new Error(`line ${shown.line}: no command`);
  const pattern = output === undefined ? undefined : outputPattern(output, way);
  if (way.stays) return shell.runOn(command, (output) => pattern?.test(output) ?? true);
  const once = async () => {
    const ended = await shell.run(command);
    const { output: printed } = ended;
    expect({ command, printed, status: ended.status }).toEqual({ command, printed, status });
    if (pattern !== undefined) expect(printed).toMatch(pattern);
  };
  // A command whose result takes a while is repeated, as a reader would.
  await (way.eventually ? eventually(command, once) : once());
}

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const blocks = readBlocks(text);
  const shell = new PageShell();
  const port = freePort();
  // Times, addresses and names made from contents differ from run to run; only a running system has them.
  const isLoose = blocks.some(
    (block) => block.kind === 'commands' && block.commands.some(({ command }) => /^relet up\b/m.test(command)),
  );
  afterAll(() => shell.close());

  test('shows commands only in blocks that are run', () => {
    expect(text).not.toMatch(/^```(bash|shell|zsh)\b/m);
  });

  // One missing program spoils what comes after it, so the whole page needs it.
  const missing = blocks
    .flatMap((block) => (block.kind === 'commands' ? (block.needs ?? []) : []))
    .filter((name) => !has(name));
  const steps: (() => unknown)[] = [];
  let next = 0;
  /** Adds a test that runs a step of the page, after those before it: also where it is the only test that runs. */
  const step = (title: string, run: () => unknown, isSkipped = false) => {
    const at = isSkipped ? -1 : steps.push(run) - 1;
    test.skipIf(isSkipped)(
      title,
      async () => {
        while (next < at) await steps[next++]!();
        next = at + 1;
        await run();
      },
      600_000,
    );
  };
  for (const block of blocks) {
    if (block.kind === 'file') step(`file ${block.name}`, () => write(shell.dir, block));
    else {
      const { notRun, needs, stays, eventually } = block;
      const lacking = isLoose ? missing : (needs ?? []).filter((name) => !has(name));
      const why = notRun ?? (lacking.length > 0 ? `${lacking.join(', ')} not found` : undefined);
      for (const command of block.commands) {
        const title = `line ${command.line}: ${command.command.split('\n')[0]}`;
        const run = () => check(shell, command, { stays, eventually, isLoose, port });
        step(why === undefined ? title : `${title} (skipped: ${why})`, run, why !== undefined);
      }
    }
  }
});

interface Way {
  stays: boolean;
  eventually: boolean;
  isLoose: boolean;
  port: Promise<number>;
}

function write(dir: string, { name, text }: Extract<Block, { kind: 'file' }>): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
  expect(readFileSync(join(dir, name), 'utf8')).toBe(text);
}
