/**
 * relet's own files on the host, each written whole: drop-ins, units, the script, configs by digest, and what the script recorded.
 * A file is made beside the one it replaces, so that it has the label that SELinux gives to files of that directory.
 */
import { basename, dirname, join } from 'node:path';
import { type Files, isMissing, realFiles, removeTree, replaceFile } from '../../../atomic-file.js';
import { makeDirectory } from '../../../make-directory.js';
import { dropInOf } from '../../embedded-drop-in.js';
import { sha256 } from '../../state/checkpoints.js';
import type { StartedConfig } from '../driver.js';

import { configFile, type HostLayout, lockName, type OwnUnit } from './host-layout.js';
import { hostScript, unitText } from './host-scripts.js';
import { hostTool } from './host-tool.js';
import { type DropInHeader, type DropInKind, local, readDropIn } from './unit-text.js';

/** An exit of the kubelet that the script counted, or that was a kill from outside. */
export interface ExitRecord {
  invocation: string;
  kind: DropInKind;
  config: string;
  /** As systemd names it: exit-code, signal, core-dump, timeout, oom-kill, watchdog. */
  result: string;
  /** exited, killed or dumped. */
  code: string;
  /** An exit code, or the name of a signal without SIG. */
  status: string;
  /** CLOCK_MONOTONIC, in microseconds. */
  at: number;
  /** The exit reached the limit, and the script rolled back. */
  rolledBack: boolean;
  /** The exit was not requested: k3s exits with 0 after an error of its kubelet. */
  byItself?: boolean;
}

/** Files of runDir, one line each but for those of limits. */
export type Mark =
  | 'started'
  | 'before'
  | 'why'
  | 'count'
  | 'confirmed'
  | 'rolled-back'
  | 'fell-back'
  | 'limits'
  | 'limits-after';

const unitMode = 0o644;

export class OwnFiles {
  readonly layout: HostLayout;
  readonly #root: string;
  readonly #files: Files;

  constructor(layout: HostLayout, root: string, files: Files = realFiles) {
    this.layout = layout;
    this.#root = root;
    this.#files = files;
  }

  dropIn(kind: DropInKind): DropInHeader | undefined {
    const text = this.#read(this.layout.dropIn[kind]);
    return text === undefined ? undefined : readDropIn(text);
  }

  /** The drop-ins that exist. */
  dropIns(): Partial<Record<DropInKind, DropInHeader>> {
    const { embedded } = this.layout;
    // Without it every start is with the file that is installed.
    if (embedded !== undefined && !this.#exists(embedded.unitDropIn)) {
      const installed = this.installed();
      return installed === undefined ? {} : { good: installed };
    }
    const kinds: DropInKind[] = ['trial', 'fallback', 'good'];
    return Object.fromEntries(
      kinds.map((kind) => [kind, this.dropIn(kind)]).filter(([, header]) => header !== undefined),
    );
  }

  /** The file for an embedded kubelet. */
  installed(): DropInHeader | undefined {
    return readDropIn(this.#read(this.layout.embedded!.installed) ?? '');
  }

  /** Names in a directory of the host; none where it cannot be seen. */
  namesIn(dir: string): string[] {
    return this.#exists(dir) ? this.#files.list(this.#root + dir) : [];
  }

  writeDropIn(kind: DropInKind, text: string): void {
    this.#write(this.layout.dropIn[kind], text, unitMode);
  }

  writeUnitDropIn(text: string): void {
    this.#write(this.layout.embedded!.unitDropIn, text, unitMode);
  }

  removeDropIn(kind: DropInKind): void {
    this.#remove(this.layout.dropIn[kind]);
  }

  writeScript(): void {
    this.#write(this.layout.script, hostScript(this.layout), 0o600);
  }

  writeTool(): void {
    this.#write(this.layout.tool, hostTool(this.layout), 0o700);
  }

  writeUnit(unit: Exclude<OwnUnit, 'deadline'>): void {
    this.#write(this.layout.units[unit], unitText(this.layout, unit), unitMode);
  }

  writeTimer(text: string): void {
    this.#write(this.layout.units.deadline, text, unitMode);
  }

  writeFallback(text: string): void {
    this.#write(this.layout.fallbackText, text, unitMode);
  }

  hasUnit(unit: OwnUnit): boolean {
    return this.#exists(this.layout.units[unit]);
  }

  removeUnit(unit: OwnUnit): void {
    this.#remove(this.layout.units[unit]);
  }

  /** `local`, or made from the content of the config and the other files of its ConfigMap. */
  digestOf(config: StartedConfig): string {
    return this.#contentOf(config)?.digest ?? local;
  }

  /** A copy under its digest, with the other files of its ConfigMap beside it. */
  store(config: StartedConfig): string {
    const found = this.#contentOf(config);
    if (found === undefined) return local;
    const { digest, content } = found;
    for (const [name, bytes] of content) {
      const path = join(dirname(configFile(this.layout, digest)), name);
      if (this.#read(path) !== bytes.toString('utf8')) this.#write(path, bytes, 0o600);
    }
    return digest;
  }

  #contentOf({ source, file }: StartedConfig): { digest: string; content: Map<string, Buffer> } | undefined {
    if (source === undefined || file === undefined) return undefined;
    const whole = this.#files.read(file);
    const data = this.layout.embedded === undefined ? whole : Buffer.from(dropInOf(whole.toString('utf8')));
    const isWhole = source.mergedDigest === undefined;
    const others = isWhole ? this.#files.list(dirname(file)).filter((name) => name !== basename(file)) : [];
    const beside = others.flatMap((name) => {
      const path = join(dirname(file), name);
      return this.#files.stat(path)?.isFile() ? [[name, this.#files.read(path)] as const] : [];
    });
    const content = new Map<string, Buffer>([...beside, ['kubelet.yaml', data]]);
    const digest = sha256([...content].map(([name, bytes]) => `${name} ${sha256(bytes)}`).join('\n'));
    return { digest, content };
  }

  /** Deletes the configs that nothing on the host names. */
  pruneConfigs(keep: readonly string[]): void {
    const { configsDir } = this.layout;
    for (const name of this.#files.list(this.#root + configsDir))
      if (!keep.includes(name)) removeTree(this.#root + join(configsDir, name), this.#files);
  }

  mark(name: Mark): string | undefined {
    return this.#read(join(this.layout.runDir, name))?.trim();
  }

  setMark(name: Mark, value: string | undefined): void {
    const path = join(this.layout.runDir, name);
    if (value === undefined) this.#remove(path);
    else this.#write(path, `${value}\n`, 0o600);
  }

  /** Oldest first. */
  exits(): ExitRecord[] {
    const { exitsDir } = this.layout;
    const names = this.#files.list(this.#root + exitsDir).filter((name) => /^[0-9a-f]{32}$/.test(name));
    const records = names.flatMap((invocation) => exitRecord(invocation, this.#read(join(exitsDir, invocation)) ?? ''));
    return records.sort((a, b) => a.at - b.at);
  }

  logOf(invocation: string): string | undefined {
    return this.#read(join(this.layout.exitsDir, `${invocation}.log`));
  }

  removeExit(invocation: string): void {
    for (const name of [invocation, `${invocation}.log`]) this.#remove(join(this.layout.exitsDir, name));
  }

  /** A file of the unit; undefined if the agent cannot see it. */
  unitFile(path: string): string | undefined {
    return this.#read(path);
  }

  /** Everything that relet put on the host but the lock of an agent that runs, and the directories that are empty then. */
  removeAll(): void {
    const { layout } = this;
    for (const path of [...Object.values(layout.dropIn), ...Object.values(layout.units)]) this.#remove(path);
    const { installed, unitDropIn } = layout.embedded ?? {};
    for (const path of [layout.script, layout.tool, layout.fallbackText, installed, unitDropIn])
      if (path !== undefined) this.#remove(path);
    const runtime = this.#files.list(this.#root + layout.runDir).filter((name) => name !== lockName);
    for (const path of [layout.configsDir, ...runtime.map((name) => join(layout.runDir, name))])
      removeTree(this.#root + path, this.#files);
    const dropIns = [...Object.values(layout.dropIn), ...(unitDropIn === undefined ? [] : [unitDropIn])];
    const dropInDirs = new Set(dropIns.map((path) => dirname(path)));
    for (const dir of [...dropInDirs, layout.runDir, dirname(layout.tool), layout.dir]) this.#removeEmpty(dir);
  }

  #removeEmpty(dir: string): void {
    const path = this.#root + dir;
    if (this.#files.stat(path) === undefined || this.#files.list(path).length > 0) return;
    try {
      this.#files.remove(path);
    } catch (error) {
      // In a pod some are mount points, and stay for the next pod.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    }
  }

  /** Skips files whose content is unchanged, so that an agent that starts again leaves the host as it is. */
  #write(path: string, data: string | Buffer, mode: number): void {
    const target = this.#root + path;
    if (this.#read(path) === data.toString('utf8')) return;
    makeDirectory(dirname(target), path.startsWith('/etc/') || path.startsWith('/run/systemd') ? 0o755 : 0o700);
    replaceFile(target, data, { mode, durable: !path.startsWith('/run/'), files: this.#files });
  }

  #exists(path: string): boolean {
    return this.#files.stat(this.#root + path) !== undefined;
  }

  #read(path: string): string | undefined {
    try {
      return this.#files.read(this.#root + path).toString('utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #remove(path: string): void {
    const target = this.#root + path;
    if (this.#files.stat(target) === undefined) return;
    this.#files.remove(target);
    if (!path.startsWith('/run/')) this.#files.sync(dirname(target));
  }
}

function exitRecord(invocation: string, text: string): ExitRecord[] {
  const fields = Object.fromEntries(text.split('\n').map((line) => line.split('=') as [string, string]));
  const { kind, config, result, code, status, at, rolledBack, byItself } = fields;
  if (kind === undefined || config === undefined || rolledBack === undefined) return [];
  const about = { result: result ?? '', code: code ?? '', status: status ?? '', at: Number(at) };
  const marks = { rolledBack: rolledBack === 'yes', byItself: byItself === 'yes' };
  return [{ invocation, kind: kind as DropInKind, config, ...about, ...marks }];
}
