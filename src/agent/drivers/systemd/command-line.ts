/**
 * Delivers a config through drop-ins of the kubelet's unit, each with the unit's own ExecStart= plus `--config`. Starting a trial and
 * keeping its config cost one daemon-reload each: on some hosts a reload takes devices away from running containers.
 */
import { quietly } from '../../../proc.js';
import type { Delivery, TrialOptions, UnitHostOptions } from './delivery.js';
import { digestIn, type HostLayout, unitNames } from './host-layout.js';
import { deadlineTimer } from './host-scripts.js';
import type { HostView } from './next-step.js';
import type { UnitState } from './systemd.js';
import {
  type BaseCommand,
  baseCommand,
  type DropInKind,
  hostPatience,
  isOwn,
  local,
  overridingDropIn,
  renderDropIn,
  type UnitFile,
  wrapperIn,
} from './unit-text.js';

const commandTimeoutMs = 10_000;

/** The first word of a process that systemd has started for the unit and that is not yet the kubelet: nothing signals when it is. */
const ofSystemd = /^\(.*\)$|(^|\/)(init|systemd|systemd-executor)$/;
const mostLooks = 100;
const lookEveryMs = 100;

export class ByCommandLine implements Delivery {
  readonly #options: UnitHostOptions;
  readonly #layout: HostLayout;
  /** Command of the main process, which does not change during its lifetime. */
  #running: { process: string; words: string[] } | undefined;
  hasConfigDir = false;

  constructor(options: UnitHostOptions) {
    this.#options = options;
    this.#layout = options.own.layout;
  }

  async look(unit: UnitState): Promise<Pick<HostView, 'base' | 'running' | 'obstacle'>> {
    const running = await this.#runningConfig(unit);
    const files = unit.loadState === 'masked' ? [] : await this.#unitFiles(unit);
    const base = files.length === 0 ? undefined : baseCommand(files);
    return { base, running, obstacle: base && obstacleIn(base, files) };
  }

  async #unitFiles({ fragmentPath, dropInPaths }: UnitState): Promise<UnitFile[]> {
    const paths = [fragmentPath, ...dropInPaths].filter((path) => path !== '' && !isOwn(path));
    return Promise.all(paths.map(async (path) => ({ path, text: await this.#readUnitFile(path) })));
  }

  /** A pod sees only some directories of the host, and files that are not behind a symbolic link. */
  async #readUnitFile(path: string): Promise<string> {
    const { own, run } = this.#options;
    const text = quietly(() => own.unitFile(path));
    if (text !== undefined) return text;
    const { code, stdout, stderr } = await run(['/bin/cat', '--', path], commandTimeoutMs);
    if (code !== 0) throw new Error(`read ${path} on the host: ${stderr.trim()}`);
    return stdout;
  }

  async #runningConfig({ mainPid, invocationId }: UnitState): Promise<string | undefined> {
    if (mainPid === 0) return undefined;
    const process = `${mainPid} ${invocationId}`;
    if (this.#running?.process !== process) {
      const words = await this.#kubeletWords(mainPid);
      if (words === undefined) return undefined;
      this.#running = { process, words };
    }
    const { words } = this.#running;
    this.hasConfigDir = words.some((word) => word === '--config-dir' || word.startsWith('--config-dir='));
    return configIn(this.#layout, words);
  }

  /** Undefined for a process that has just exited, or does not become the kubelet. */
  async #kubeletWords(pid: number): Promise<string[] | undefined> {
    const { run, clock } = this.#options;
    for (let looks = 1; looks <= mostLooks; looks++) {
      const { code, stdout } = await run(['/bin/cat', `/proc/${pid}/cmdline`], commandTimeoutMs);
      const words = stdout.split('\0').slice(0, -1);
      if (code !== 0 || words.length === 0) return undefined;
      if (!ofSystemd.test(words[0]!)) return words;
      await clock.sleep(lookEveryMs);
    }
    return undefined;
  }

  writeTrial(base: BaseCommand, config: string, { isNow }: TrialOptions): void {
    const { own } = this.#options;
    if (isNow) own.writeTimer(deadlineTimer(this.#deadlineMs()));
    own.writeDropIn('trial', this.#render('trial', base, config, { arms: !isNow }));
  }

  writeGood(base: BaseCommand, config: string): void {
    const { own } = this.#options;
    own.writeScript();
    own.writeFallback(this.#render('fallback', base, local));
    own.writeUnit('fallback');
    own.writeUnit('returnToGood');
    own.writeDropIn('good', this.#render('good', base, config));
  }

  removeGood(): void {
    const { own } = this.#options;
    own.removeDropIn('good');
    for (const unit of ['fallback', 'returnToGood'] as const) own.removeUnit(unit);
  }

  async loadTrial(config: string, { isNow }: TrialOptions): Promise<void> {
    const { systemd } = this.#options;
    await systemd.reload();
    await this.#verify('trial', config);
    const armed = isNow ? await systemd.start(unitNames.deadline) : 'done';
    if (armed !== 'done') throw new Error(`start ${unitNames.deadline}: ${armed}`);
  }

  async loadKept(config: string): Promise<void> {
    await this.#options.systemd.reload();
    await this.#verify(config === local ? undefined : 'good', config);
  }

  async disarm(): Promise<void> {
    this.#options.own.removeUnit('deadline');
  }

  #deadlineMs(): number {
    const { clock, systemdStartedUs, trial } = this.#options;
    return Math.ceil(clock.monotonic() - systemdStartedUs / 1000 + trial.healthDeadlineMs * hostPatience);
  }

  #render(kind: DropInKind, base: BaseCommand, config: string, { arms = false } = {}): string {
    const { trial } = this.#options;
    const { script, configsDir } = this.#layout;
    const counter = { script, limit: trial.failedStarts };
    const stored = config === local ? undefined : { digest: config, file: `${configsDir}/${config}/kubelet.yaml` };
    const seconds = Math.ceil((trial.healthDeadlineMs * hostPatience) / 1000);
    const { hasConfigDir } = this;
    return renderDropIn({
      kind,
      base,
      config: stored,
      hasConfigDir,
      counter,
      ...(arms && { deadlineSeconds: seconds }),
    });
  }

  /** Checks that systemd has loaded what was written: an unknown file may override it. */
  async #verify(kind: DropInKind | undefined, config: string): Promise<void> {
    const { dropIn } = this.#layout;
    const { dropInPaths, execStart } = await this.#options.systemd.unit(this.#layout.unit);
    const [words = []] = execStart;
    const isThere = kind === undefined || dropInPaths.includes(dropIn[kind]);
    if (!isThere || execStart.length !== 1 || configIn(this.#layout, words) !== config)
      throw new Error(`systemd does not use ${kind ? dropIn[kind] : 'the unit'}: its command is ${words.join(' ')}`);
  }
}

/** The last --config counts, for the kubelet too. `local` unless it is one of relet's. */
function configIn(layout: HostLayout, words: readonly string[]): string {
  const at = words.findLastIndex((word) => word === '--config' || word.startsWith('--config='));
  const word = words[at];
  const file = word === '--config' ? words[at + 1] : word?.slice('--config='.length);
  return (file && digestIn(layout, file)) || local;
}

function obstacleIn(base: BaseCommand, files: readonly UnitFile[]): string | undefined {
  const wrapper = wrapperIn(base);
  if (wrapper !== undefined) return `ExecStart= starts ${wrapper}, not the kubelet: ${base.text}`;
  const overriding = overridingDropIn(files);
  return overriding && `${overriding} sets ExecStart= after relet's drop-ins`;
}
