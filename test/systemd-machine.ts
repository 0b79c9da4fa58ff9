/**
 * A machine with systemd as PID 1, in a container of systemd-nspawn, for tests of what systemd really does. Its root is a copy
 * (an overlay) of a directory that SYSTEMD_ROOT names: one of debootstrap with systemd and dbus, or several with ':' between them.
 * The network and Node.js are those of the host.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { eventually } from './eventually.js';
import { Program, sendSignal } from './program.js';
import { has } from './programs.js';

export const systemdRoots: readonly string[] = (process.env.SYSTEMD_ROOT ?? '')
  .split(':')
  .filter((root) => root !== '');

/** Why there cannot be such a machine here; undefined if there can. */
export function cannotBoot(): string | undefined {
  if (systemdRoots.length === 0) return 'SYSTEMD_ROOT is not set';
  const missing = ['systemd-nspawn', 'nsenter', 'mount'].find((program) => !has(program));
  if (missing !== undefined) return `${missing} is not installed`;
  return process.getuid?.() === 0 ? undefined : 'it needs root';
}

/** Runs the tests on a machine of each root. Where there cannot be one, their name says why. */
export function describeOnSystemd(what: string, tests: (machine: () => Machine, root: string) => void): void {
  const reason = cannotBoot();
  const roots = systemdRoots.length > 0 ? systemdRoots : ['none'];
  const note = reason ? ` (skipped: ${reason})` : '';
  describe.skipIf(reason !== undefined).each(roots)(`${what}, systemd in %s${note}`, (root) => {
    let machine: Machine;
    beforeAll(async () => {
      machine = await Machine.boot(root);
    });
    afterAll(() => machine?.remove());
    tests(() => machine, basename(root));
  });
}

/** Exit code of a container that was booted again. */
const rebooted = 133;

export interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

export class Machine {
  readonly #dir: string;
  readonly #name: string;
  #nspawn: Program | undefined;
  #leader = 0;

  private constructor(root: string, dir: string) {
    this.#dir = dir;
    this.#name = `relet-${basename(this.#dir).slice(-6).toLowerCase()}`;
    for (const name of ['root', 'upper', 'work']) mkdirSync(join(this.#dir, name));
    const layers = `lowerdir=${root},upperdir=${this.#dir}/upper,workdir=${this.#dir}/work`;
    const { status, stderr } = spawnSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, join(this.#dir, 'root')]);
    if (status !== 0) throw new Error(`mount an overlay of ${root}: ${stderr}`);
  }

  /** Its files are in `dir`, by default one of its own. */
  static async boot(root: string, dir = mkdtempSync(join(tmpdir(), 'relet-machine-'))): Promise<Machine> {
    const machine = new Machine(root, dir);
    await machine.#start();
    return machine;
  }

  /** Path of the machine's files, those in /run and /proc among them. */
  get root(): string {
    return `/proc/${this.#leader}/root`;
  }

  path(path: string): string {
    return this.root + path;
  }

  async #start(): Promise<void> {
    const repository = join(import.meta.dirname, '..');
    const how = ['--quiet', '--register=no', '--keep-unit', '--boot', '--console=pipe', '--capability=all'];
    const host = ['--resolv-conf=off', '--timezone=off', '--link-journal=no', '--system-call-filter=@known'];
    const binds = [`--bind-ro=${process.execPath}:/usr/bin/node`, `--bind-ro=${repository}:/opt/relet`];
    const where = ['-D', join(this.#dir, 'root'), '-M', this.#name];
    const args = [...how, ...host, ...binds, ...where, 'systemd.unit=multi-user.target'];
    const nspawn = new Program('systemd-nspawn', args, {
      logFile: join(this.#dir, 'log'),
      env: {
        ...process.env,
        SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: existsSync('/sys/fs/cgroup/cgroup.controllers') ? '1' : '0',
      },
    });
    this.#nspawn = nspawn;
    const hopeless = () => nspawn.exit !== undefined && `systemd-nspawn exited: ${this.consoleText()}`;
    await eventually('the machine is up', () => this.#findLeader(nspawn.pid), { hopeless });
    await eventually(
      'systemd has started everything',
      async () => {
        const { stdout } = await this.run('systemctl', 'is-system-running');
        return /^(running|degraded)/.test(stdout);
      },
      { hopeless },
    );
  }

  #findLeader(nspawn: number): boolean {
    const children = readFileSync(`/proc/${nspawn}/task/${nspawn}/children`, 'utf8').trim().split(' ');
    this.#leader = Number(children[0]);
    return this.#leader > 0 && existsSync(this.path('/run/dbus/system_bus_socket'));
  }

  consoleText(): string {
    return readFileSync(join(this.#dir, 'log'), 'utf8').slice(-2000);
  }

  /** The arguments of nsenter that run a program inside. */
  enter(...command: string[]): string[] {
    return ['-t', String(this.#leader), '-m', '-u', '-i', '-p', '-r', '-w', '--', ...command];
  }

  /** Runs a program inside. */
  run(...command: string[]): Promise<Output> {
    return new Promise((resolve) => {
      execFile('nsenter', this.enter(...command), { maxBuffer: 1e8 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  /** Runs a line of shell inside; throws when it fails. */
  async sh(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.run('/bin/sh', '-c', line);
    if (code !== 0) throw new Error(`${line}: exit code ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  async reboot(): Promise<void> {
    const nspawn = this.#nspawn!;
    await this.run('systemctl', 'reboot', '--no-block');
    const { code } = await nspawn.exited;
    if (code !== rebooted) throw new Error(`systemd-nspawn exited with ${code}: ${this.consoleText()}`);
    await this.#start();
  }

  /** As when the power is cut, and comes back. */
  async powerCycle(): Promise<void> {
    sendSignal(this.#leader, 'SIGKILL');
    await this.#nspawn!.exited;
    await this.#start();
  }

  async remove(): Promise<void> {
    const nspawn = this.#nspawn;
    if (nspawn !== undefined && nspawn.exit === undefined) {
      sendSignal(this.#leader || nspawn.pid, 'SIGKILL');
      await nspawn.exited;
    }
    spawnSync('umount', ['-l', join(this.#dir, 'root')]);
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
