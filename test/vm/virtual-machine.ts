/**
 * A machine that boots under QEMU, with KVM where that works, from a disk of scripts/vm-image.mjs. What a test changes is in a copy that
 * goes with it. Commands run over SSH; a power cut is a reset, which loses everything that the machine had not yet written.
 */
import { execFile, execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { Program } from '../program.js';
import type { Output } from '../systemd-machine.js';
import { temporaryDir } from '../temporary-dir.js';

const imagesDir = process.env.VM_IMAGES ?? '';

/** Those of scripts/vm-image.mjs in the directory that VM_IMAGES names. */
export const images: readonly string[] = existsSync(imagesDir)
  ? readdirSync(imagesDir)
      .sort()
      .map((name) => join(imagesDir, name))
      .filter((dir) => existsSync(join(dir, 'disk.raw')))
  : [];

/** Limit of a wait: an emulated machine beside other work is slow. */
export const slowMs = 600_000;
const bootLimitMs = { kvm: 120_000, tcg: slowMs };

function accelerator(): 'kvm' | 'tcg' {
  const given = process.env.VM_ACCEL;
  if (given === 'kvm' || given === 'tcg') return given;
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return 'kvm';
  } catch {
    return 'tcg';
  }
}

/** `-cpu max` alone faults in cmpxchg16b under QEMU 7.2 without KVM. */
const cpus = {
  kvm: ['-accel', 'kvm', '-cpu', 'host'],
  tcg: ['-accel', 'tcg,thread=multi', '-cpu', 'max,-cx16,-la57,-svm,-pku'],
};

export class VirtualMachine {
  readonly #dir = temporaryDir();
  readonly #image: string;
  readonly #sshPort: number;
  readonly #qemu: Program;
  #monitor: Promise<Socket> | undefined;
  /** A connection to a machine that was reset is never used again. */
  #connections = 0;

  private constructor(image: string, sshPort: number, { tools, kernel = '' }: { tools: string; kernel?: string }) {
    this.#image = image;
    this.#sshPort = sshPort;
    const disk = join(this.#dir, 'disk.qcow2');
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', join(image, 'disk.raw'), '-F', 'raw', disk]);
    const toolsDisk = join(this.#dir, 'tools.raw');
    execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-d', tools, toolsDisk, '600M']);
    const append = `root=/dev/vda rw console=ttyS0 panic=5 mitigations=off quiet systemd.show_status=no ${kernel}`;
    const net = `user,id=net,hostfwd=tcp:127.0.0.1:${sshPort}-:22`;
    const args = [
      ...['-nographic', '-no-user-config', '-nodefaults', '-smp', '2', '-m', '2048', ...cpus[accelerator()]],
      ...['-kernel', join(image, 'vmlinuz'), '-initrd', join(image, 'initrd.img')],
      ...['-append', append],
      ...[
        '-drive',
        `file=${disk},if=virtio,cache=unsafe,detect-zeroes=on`,
        '-drive',
        `file=${toolsDisk},if=virtio,format=raw,readonly=on`,
      ],
      ...['-netdev', net, '-device', 'virtio-net-pci,netdev=net,romfile=', '-device', 'virtio-rng-pci'],
      ...['-serial', `file:${this.#dir}/console`, '-qmp', `unix:${this.#dir}/qmp,server=on,wait=off`],
    ];
    this.#qemu = new Program('qemu-system-x86_64', args, { logFile: join(this.#dir, 'qemu.log') });
  }

  /** `tools`: a directory that the machine sees, read-only, at /mnt. */
  static async boot(image: string, options: { tools: string; kernel?: string }): Promise<VirtualMachine> {
    const machine = new VirtualMachine(image, await freePort(), options);
    await machine.untilUp().catch(async (error) => {
      await machine.close();
      if (accelerator() === 'tcg') throw error;
      throw new Error('the machine does not come up with KVM: set VM_ACCEL=tcg', { cause: error });
    });
    await machine.sh('mount -o ro /dev/vdb /mnt');
    return machine;
  }

  get console(): string {
    return readFileSync(join(this.#dir, 'console'), 'utf8').slice(-3000);
  }

  untilUp(): Promise<unknown> {
    const limitMs = bootLimitMs[accelerator()];
    const isUp = async () => {
      // A machine that goes down answers too, as stopping.
      const { stdout } = await this.run('systemctl is-system-running', { timeoutMs: limitMs });
      return /^(running|degraded)/.test(stdout);
    };
    return this.until('the machine is up', isUp, { limitMs });
  }

  until<T>(
    what: string,
    ask: () => T | false | Promise<T | false>,
    { seen = () => this.console, limitMs = slowMs } = {},
  ): Promise<T> {
    const hopeless = () =>
      this.#qemu.exit !== undefined && `QEMU exited: ${readFileSync(join(this.#dir, 'qemu.log'), 'utf8')}`;
    return eventually(what, ask, { hopeless, seen, limitMs });
  }

  /** Runs a line of shell inside. */
  run(line: string, { timeoutMs = slowMs }: { timeoutMs?: number } = {}): Promise<Output> {
    const options = {
      StrictHostKeyChecking: 'no',
      UserKnownHostsFile: '/dev/null',
      LogLevel: 'ERROR',
      ConnectTimeout: '30',
      ServerAliveInterval: '10',
      ServerAliveCountMax: '6',
      ControlMaster: 'auto',
      ControlPersist: '600',
      ControlPath: join(this.#dir, `ssh-${this.#connections}`),
    };
    const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const where = ['-i', join(this.#image, 'id'), '-p', String(this.#sshPort), 'root@127.0.0.1'];
    return new Promise((resolve) => {
      const all = { maxBuffer: 1e8, timeout: timeoutMs };
      execFile('ssh', [...words, ...where, line], all, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code ?? 255);
        // 255 is that of ssh: the next attempt is with a connection of its own.
        if (code === 255) this.#connections++;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** As run; throws when it fails. */
  async sh(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(line);
    if (code !== 0) throw new Error(`${line}: exit code ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  async cutPower(): Promise<void> {
    const before = await this.bootId();
    await this.#command('system_reset');
    await this.untilBooted(before);
  }

  async reboot(): Promise<void> {
    const before = await this.bootId();
    await this.run('systemctl reboot');
    await this.untilBooted(before);
  }

  bootId(): Promise<string> {
    return this.sh('cat /proc/sys/kernel/random/boot_id');
  }

  async untilBooted(before: string): Promise<void> {
    await this.until('booted again', async () => {
      const { code, stdout } = await this.run('cat /proc/sys/kernel/random/boot_id', { timeoutMs: 30_000 });
      if (code !== 0) this.#connections++;
      return code === 0 && stdout.trim() !== before;
    });
    await this.untilUp();
  }

  /** Asks QEMU's monitor for a command that prints nothing. */
  async #command(line: string): Promise<void> {
    this.#monitor ??= this.#connectMonitor();
    const socket = await this.#monitor;
    socket.write(JSON.stringify({ execute: 'human-monitor-command', arguments: { 'command-line': line } }));
  }

  async #connectMonitor(): Promise<Socket> {
    const path = join(this.#dir, 'qmp');
    await eventually('the monitor is there', () => existsSync(path));
    const socket = connect(path);
    // QEMU has exited: what waits for it fails with that.
    socket.on('error', () => {}).resume();
    socket.write(JSON.stringify({ execute: 'qmp_capabilities' }));
    return socket;
  }

  async close(): Promise<void> {
    (await this.#monitor)?.destroy();
    for (let count = 0; count <= this.#connections; count++)
      if (existsSync(join(this.#dir, `ssh-${count}`)))
        execFileSync('ssh', ['-O', 'exit', '-o', `ControlPath=${join(this.#dir, `ssh-${count}`)}`, 'x'], {
          stdio: 'ignore',
        });
    await this.#qemu.end();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
