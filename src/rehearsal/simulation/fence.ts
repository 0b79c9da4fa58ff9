/**
 * A process of the simulation (the agent of a node, or a controller) that can crash at any point. All its effects on the outside pass
 * its fence. Once it is down, nothing that was pending takes effect: promises stay pending, writes fail, connections are closed. While
 * it is stopped (SIGSTOP), nothing reaches it; it continues with all that has come meanwhile, in that order.
 *
 * Each effect is a step. A crash or a stop can be set to happen just before or just after any of them.
 */
import type { KubeletDriver } from '../../agent/drivers/driver.js';
import type { Files } from '../../atomic-file.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';

export class Crashed extends Error {
  override name = 'Crashed';
}

export class Fence {
  isDown = false;
  /** How many effects the process has had. */
  steps = 0;
  readonly #onDown: () => void;
  readonly #connections = new Set<() => void>();
  #crashIn: number | undefined;
  #pause: { halfSteps: number; of: string; begin: () => void } | undefined;
  /** Set while the process is stopped: what waits for it to continue. */
  #held: (() => void)[] | undefined;

  constructor(onDown: () => void = () => {}) {
    this.#onDown = onDown;
  }

  /** Crashes after this many half steps: an even number is before an effect, an odd one after it. */
  crashIn(halfSteps: number): void {
    this.#crashIn = halfSteps;
  }

  /**
   * Calls `begin`, which calls pause(), after this many half steps; with `of`, only steps with this text count. Writes to the disk that
   * follow at once are made before it stops.
   */
  pauseIn(halfSteps: number, begin: () => void, of = ''): void {
    this.#pause = { halfSteps, of, begin };
  }

  get isPaused(): boolean {
    return this.#held !== undefined;
  }

  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  /** kill -9. */
  down(): void {
    if (this.isDown) return;
    this.isDown = true;
    this.#held = undefined;
    for (const close of this.#connections) close();
    this.#connections.clear();
    this.#onDown();
  }

  /** An effect that happens at once. Throws once the process is down. */
  step<T>(effect: () => T): T {
    this.#halfStep();
    this.steps++;
    const result = effect();
    this.#halfStep();
    return result;
  }

  /** A step that waits where the process is stopped just before it: what was decided earlier takes effect later. */
  stepLater<T>(effect: () => Promise<T>, what = ''): Promise<T> {
    this.#halfStep(what);
    const now = () => {
      this.steps++;
      const result = effect();
      this.#halfStep(what);
      return result;
    };
    return this.isPaused ? new Promise<void>((resolve) => this.#hold(resolve)).then(now) : now();
  }

  /** A promise that stays pending while the process is stopped, and once it is down. */
  guard<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.#hold(() => resolve(value)),
        (error: unknown) => this.#hold(() => reject(error)),
      );
    });
  }

  #hold(go: () => void): void {
    if (this.isDown) return;
    if (this.#held === undefined) go();
    else this.#held.push(go);
  }

  /** Closed when the process goes down. Returns how to forget it. */
  connection(close: () => void): () => void {
    this.#connections.add(close);
    return () => this.#connections.delete(close);
  }

  #halfStep(what = ''): void {
    if (this.#crashIn !== undefined && this.#crashIn-- === 0) this.down();
    if (this.isDown) throw new Crashed('the process is down');
    if (!this.#pause || !what.includes(this.#pause.of) || this.#pause.halfSteps-- > 0) return;
    const { begin } = this.#pause;
    this.#pause = undefined;
    begin();
  }
}

export function fencedClock(clock: Clock, fence: Fence): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => fence.guard(clock.sleep(ms, signal)),
  };
}

export function fencedFiles(files: Files, fence: Fence): Files {
  return {
    random: files.random,
    read: (path) => files.read(path),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    makeDir: (path, mode) => fence.step(() => files.makeDir(path, mode)),
    create: (path, data, mode) => fence.step(() => files.create(path, data, mode)),
    sync: (path) => fence.step(() => files.sync(path)),
    rename: (from, to) => fence.step(() => files.rename(from, to)),
    link: (from, to) => fence.step(() => files.link(from, to)),
    remove: (path) => fence.step(() => files.remove(path)),
  };
}

export function fencedDriver(driver: KubeletDriver, fence: Fence): KubeletDriver {
  const { name } = driver;
  return {
    name,
    bootId: () => driver.bootId(),
    fingerprint: () => driver.fingerprint(),
    version: () => fence.guard(driver.version()),
    isHostStopping: () => fence.guard(driver.isHostStopping()),
    kubeletLog: () => fence.guard(driver.kubeletLog()),
    portOwners: (ports) => fence.guard(driver.portOwners(ports)),
    recover: () => fence.guard(fence.stepLater(() => driver.recover())),
    start: (config, onRunning) => fence.guard(fence.stepLater(() => driver.start(config, onRunning))),
    stop: (...args) => fence.guard(fence.stepLater(() => driver.stop(...args))),
    shutdown: (...args) => fence.guard(fence.stepLater(() => driver.shutdown(...args))),
  };
}

/** A process that is down writes no log. */
export function fencedLog(log: Log, fence: Fence): Log {
  const at =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields) => {
      if (!fence.isDown) log[level](message, fields);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
