/**
 * A shell for one page: what one command sets, the next one sees, as for a reader who types along. `relet` is on the path and
 * among the modules, as an installation would put it there; HOME is a directory of the page's own.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { Program } from './program.js';
import { executable } from './run-relet.js';

export interface Ended {
  output: string;
  status: number;
}

const root = join(import.meta.dirname, '..');
const endMark = '\u0000end of command ';

export class PageShell {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'relet-docs-')));
  readonly #env: NodeJS.ProcessEnv;
  #bash: Program | undefined;
  /** Length of the output of earlier commands. */
  #before = 0;

  constructor() {
    const bin = join(this.dir, '.bin');
    mkdirSync(bin);
    for (const name of ['relet', 'kubectl-relet']) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    symlinkSync(join(root, 'examples'), join(this.dir, 'examples'));
    mkdirSync(join(this.dir, 'node_modules'));
    symlinkSync(root, join(this.dir, 'node_modules', 'relet'));
    this.#env = { PATH: `${bin}:${process.env.PATH}`, HOME: this.dir };
  }

  /** Ends when the command does. */
  async run(command: string): Promise<Ended> {
    this.#type(command);
    const pattern = new RegExp(`${endMark}(\\d+)\\n`);
    const match = await this.#until(() => pattern.exec(this.#output));
    const output = this.#output.slice(0, match.index);
    this.#before += match.index + match[0].length;
    return { output, status: Number(match[1]) };
  }

  /** For a command that keeps running: ends when what it prints satisfies. It runs until the page is over. */
  async runOn(command: string, satisfies: (output: string) => boolean): Promise<void> {
    const { output } = await this.run(`${command.replace(/&\s*$/, '')} &`);
    await this.#until(() => satisfies(output + this.#output));
    this.#before += this.#output.length;
  }

  /** Stops everything that the page started. */
  async close(): Promise<void> {
    for (const dataDir of dataDirsIn(this.dir))
      spawnSync(join(this.dir, '.bin', 'relet'), ['down', '--data-dir', dataDir], { env: this.#env });
    this.#bash?.kill('SIGKILL');
    await this.#bash?.ended;
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** The output since the last command, as a reader named ann sees it. */
  get #output(): string {
    return (this.#bash?.output ?? '').replaceAll(this.dir, '/home/ann').slice(this.#before);
  }

  /** From a file, so that nothing the command reads is taken from what is typed next. */
  #type(command: string): void {
    this.#bash ??= this.#start();
    writeFileSync(join(this.dir, '.command'), `${command}\n`);
    this.#bash.type(`. "$HOME/.command" < /dev/null; printf '\\0end of command %d\\n' $?\n`);
  }

  #start(): Program {
    return new Program('bash', ['--norc', '-c', 'exec 2>&1; exec bash --norc'], {
      cwd: this.dir,
      env: this.#env,
      // Background jobs of the page end with it.
      isGroup: true,
      input: 'typed later',
    });
  }

  #until<T>(look: () => T | null | false): Promise<T> {
    const bash = this.#bash!;
    return eventually('what the page shows', () => look() ?? false, {
      seen: () => this.#output,
      hopeless: () => bash.exit !== undefined && 'the shell has exited',
      changes: (changed) => bash.onOutput(changed),
    });
  }
}

/** Returns the data directories of the clusters that a page brought up. */
function dataDirsIn(dir: string, depth = 2): string[] {
  if (existsSync(join(dir, 'system.json'))) return [dir];
  if (depth === 0) return [];
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return below.flatMap(({ name }) => dataDirsIn(join(dir, name), depth - 1));
}
