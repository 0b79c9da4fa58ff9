/**
 * systemd over D-Bus: the few calls that relet uses, typed. The public bus is used where there is one, and systemd's own socket
 * otherwise. A lost connection is opened again; listeners are called then too, since anything may have happened in between.
 */
import { basename } from 'node:path';
import type { Clock } from '../../../clock.js';
import { deadline } from '../../../kube/requester.js';
import type { Log } from '../../../log.js';
import { type Call, type CallFailed, DBus } from './dbus.js';
import { type Message, type Variant, variant } from './dbus-message.js';

/** A unit as systemd has it loaded, at one moment. Times are CLOCK_MONOTONIC, in microseconds. */
export interface UnitState {
  /** loaded, not-found, masked, error, bad-setting */
  loadState: string;
  /** active, activating, deactivating, inactive, failed, reloading */
  activeState: string;
  /** State of a service, such as running, start-post, auto-restart, stop-post, dead. */
  subState: string;
  /** Id of the last start, in hex; empty when it was never started. */
  invocationId: string;
  /** 0 without a main process. */
  mainPid: number;
  /** A start, stop or restart is under way. */
  hasJob: boolean;
  unitFileState: string;
  fragmentPath: string;
  dropInPaths: string[];
  /** A file of the unit was changed since systemd read it. */
  needDaemonReload: boolean;
  /** The words of each command, variables as they are written. */
  execStart: string[][];
  /** `NAME=VALUE` of Environment=. */
  environment: string[];
  environmentFiles: { path: string; optional: boolean }[];
  /** User= of a service; empty for root. */
  user: string;
  /** success, exit-code, signal, timeout, … */
  result: string;
  /** As of waitid: 1 exited, 2 killed, 3 dumped. */
  execMainCode: number;
  /** The exit code, or the number of the signal. */
  execMainStatus: number;
  execMainStartUs: number;
}

export interface ManagerState {
  /** initializing, starting, running, degraded, maintenance, stopping */
  systemState: string;
  /** When systemd started: what OnStartupSec= counts from. */
  startedUs: number;
  /** The same as wall-clock time. In a container it is what changes with a reboot. */
  startedAtUs: number;
}

/** done, canceled, timeout, failed, dependency, skipped */
export type JobResult = string;

export interface TransientUnit {
  name: string;
  properties: [name: string, value: Variant][];
}

export interface Systemd {
  manager(): Promise<ManagerState>;
  unit(name: string): Promise<UnitState>;
  /** Names of all units that have a file. */
  unitNames(): Promise<string[]>;
  /** Reads all unit files again. */
  reload(): Promise<void>;
  /** Resolve when the job is over. Reject when there cannot be one, such as for a masked unit. */
  start(unit: string): Promise<JobResult>;
  /** Resolves when systemd has taken the order. On systemd's own socket first: the bus is a process that may be starved. */
  startNow(unit: string): Promise<void>;
  stop(unit: string): Promise<JobResult>;
  /** Resolves when the restart has begun, without waiting until the service is ready. */
  restart(unit: string): Promise<void>;
  /** Starts a unit that is described here. Resolves when its start job is over: of a oneshot service, when it has ended. */
  startTransient(unit: TransientUnit): Promise<JobResult>;
  /** Harmless when the unit did not fail. */
  resetFailed(unit: string): Promise<void>;
  /** Called when this unit, or any unit file, may have changed. Returns how to stop that. */
  watch(unit: string, onChange: () => void): () => void;
  close(): void;
}

export interface SystemdOptions {
  /** In front of the paths of the sockets: where the host's /run is. Default none. */
  root?: string;
  clock: Clock;
  log: Log;
}

const destination = 'org.freedesktop.systemd1';
const managerPath = '/org/freedesktop/systemd1';
const manager = { destination, path: managerPath, interface: `${destination}.Manager` };
const properties = 'org.freedesktop.DBus.Properties';
const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };
const noSystemd =
  "connect to systemd: is it the init system of this host, and may relet use its sockets? For nodes without it, such as those of Talos, 'relet export' writes what they apply (docs/install.md)";
const sockets = [
  { path: '/run/dbus/system_bus_socket', isBus: true },
  { path: '/run/systemd/private', isBus: false },
];
/** A reload on a node with thousands of units takes seconds; systemd itself waits as long for a reply. */
const callTimeoutMs = 90_000;
/** For a job that relet waits for: those of relet's own units take seconds, and commands on the host have a limit of their own. */
const jobTimeoutMs = 90_000;
/** For an answer to an order that must not wait, on each socket. */
const orderTimeoutMs = 20_000;
const reconnectMs = 1000;

export function connectSystemd(options: SystemdOptions): Systemd {
  return new SystemdConnection(options);
}

class SystemdConnection implements Systemd {
  readonly #options: SystemdOptions;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Called with every job that ends. */
  readonly #jobs = new Set<(job: string, result: JobResult) => void>();
  readonly #over = new AbortController();
  #opening: Promise<DBus> | undefined;
  #isBus = true;

  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  async manager(): Promise<ManagerState> {
    const all = await this.#getAll(managerPath, manager.interface);
    return {
      systemState: String(all.SystemState),
      startedUs: Number(all.UserspaceTimestampMonotonic),
      startedAtUs: Number(all.UserspaceTimestamp),
    };
  }

  async unit(name: string): Promise<UnitState> {
    // Loaded first, since a unit that does not run may not be in memory.
    const [path] = await this.#call({ ...manager, member: 'LoadUnit', signature: 's', body: [name] });
    return unitState(await this.#getAll(String(path), ''));
  }

  async unitNames(): Promise<string[]> {
    const [files] = await this.#call({ ...manager, member: 'ListUnitFiles' });
    return (files as [string, string][]).map(([path]) => basename(path));
  }

  async reload(): Promise<void> {
    await this.#call({ ...manager, member: 'Reload' });
  }

  start(unit: string): Promise<JobResult> {
    return this.#job(unit, { member: 'StartUnit', signature: 'ss', body: [unit, 'replace'] });
  }

  async startNow(unit: string): Promise<void> {
    const { root = '' } = this.#options;
    const failures: Error[] = [];
    for (const { path, isBus } of [...sockets].reverse()) {
      let open: Promise<DBus> | undefined;
      try {
        open = DBus.open({ path: root + path, isBus, onSignal() {} });
        const connection = await this.#within(orderTimeoutMs, `connect to ${path}`, open);
        const call = { ...manager, member: 'StartUnit', signature: 'ss', body: [unit, 'replace'] };
        await this.#within(orderTimeoutMs, `start ${unit}`, connection.call(addressed(call, isBus)));
        return;
      } catch (error) {
        failures.push(error as Error);
      } finally {
        void open?.then((connection) => connection.close()).catch(() => {});
      }
    }
    throw new AggregateError(failures, `start ${unit}`, { cause: failures[0] });
  }

  async restart(unit: string): Promise<void> {
    await this.#call({ ...manager, member: 'RestartUnit', signature: 'ss', body: [unit, 'replace'] });
  }

  stop(unit: string): Promise<JobResult> {
    return this.#job(unit, { member: 'StopUnit', signature: 'ss', body: [unit, 'replace'] });
  }

  startTransient({ name, properties }: TransientUnit): Promise<JobResult> {
    const body = [name, 'fail', properties, []];
    return this.#job(name, { member: 'StartTransientUnit', signature: 'ssa(sv)a(sa(sv))', body });
  }

  async resetFailed(unit: string): Promise<void> {
    await this.#call({ ...manager, member: 'ResetFailedUnit', signature: 's', body: [unit] }).catch((error) => {
      if (!isNoSuchUnit(error)) throw error;
    });
  }

  watch(unit: string, onChange: () => void): () => void {
    const path = unitPath(unit);
    const known = this.#listeners.get(path);
    const listeners = known ?? new Set();
    listeners.add(onChange);
    this.#listeners.set(path, listeners);
    if (known === undefined) void this.#match(unitRule(path)).catch(() => {});
    return () => void listeners.delete(onChange);
  }

  close(): void {
    this.#over.abort(new Error('closed'));
    void this.#opening?.then((open) => open.close()).catch(() => {});
  }

  async #getAll(path: string, of: string): Promise<Record<string, unknown>> {
    const call = { destination, path, interface: properties, member: 'GetAll', signature: 's', body: [of] };
    const [all] = await this.#call(call);
    return all as Record<string, unknown>;
  }

  async #job(unit: string, call: Pick<Call, 'member' | 'signature' | 'body'>): Promise<JobResult> {
    const rule = `type='signal',sender='${destination}',member='JobRemoved',arg2='${unit}'`;
    const ended = new Map<string, JobResult>();
    let onEnd: (job: string) => void = () => {};
    const listener = (job: string, result: JobResult) => {
      ended.set(job, result);
      onEnd(job);
    };
    const open = await this.#open();
    this.#jobs.add(listener);
    let onLost = () => {};
    try {
      await this.#match(rule);
      const [job] = (await this.#call({ ...manager, ...call })) as [string];
      // The job may have ended before the answer was handled.
      const result = new Promise<JobResult>((resolve, reject) => {
        onEnd = () => ended.has(job) && resolve(ended.get(job)!);
        onEnd(job);
        onLost = () => reject(new Error(`${call.member} ${unit}: the connection ended before the job`));
        open.closed.addEventListener('abort', onLost);
        if (open.closed.aborted) onLost();
      });
      return await this.#within(jobTimeoutMs, `${call.member} ${unit}`, result);
    } finally {
      open.closed.removeEventListener('abort', onLost);
      this.#jobs.delete(listener);
      // Not awaited: the result is known, and the bus may be slow.
      if (this.#isBus && !open.closed.aborted)
        void open.call({ ...bus, member: 'RemoveMatch', signature: 's', body: [rule] }).catch(() => {});
    }
  }

  async #match(rule: string): Promise<void> {
    const open = await this.#open();
    if (!this.#isBus) return;
    await this.#within(
      callTimeoutMs,
      'AddMatch',
      open.call({ ...bus, member: 'AddMatch', signature: 's', body: [rule] }),
    );
  }

  async #call(call: Call): Promise<unknown[]> {
    const open = await this.#open();
    return this.#within(callTimeoutMs, call.member, open.call(addressed(call, this.#isBus)));
  }

  async #within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
    const limit = deadline(this.#options.clock, ms, this.#over.signal, what);
    // After a timeout nothing handles a late rejection.
    work.catch(() => {});
    try {
      return await Promise.race([work, rejected(limit.signal)]);
    } finally {
      limit.done();
    }
  }

  #open(): Promise<DBus> {
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<DBus> {
    if (this.#over.signal.aborted) throw new Error('the connection to systemd is closed');
    const { root = '' } = this.#options;
    const failures: Error[] = [];
    for (const { path, isBus } of sockets) {
      const matches = [managerRule('Reloading'), managerRule('UnitFilesChanged')];
      const rules = [...matches, ...[...this.#listeners.keys()].map(unitRule)];
      try {
        const onSignal = (signal: Message) => this.#onSignal(signal);
        const open = await DBus.open({ path: root + path, isBus, matches: rules, onSignal });
        this.#isBus = isBus;
        await this.#within(
          callTimeoutMs,
          'Subscribe',
          open.call(addressed({ ...manager, member: 'Subscribe' }, isBus)),
        );
        open.closed.addEventListener('abort', () => void this.#reopen(), { once: true });
        return open;
      } catch (error) {
        failures.push(error as Error);
      }
    }
    throw new Error(noSystemd, {
      cause: failures[0],
    });
  }

  async #reopen(): Promise<void> {
    const { clock, log } = this.#options;
    this.#opening = undefined;
    while (!this.#over.signal.aborted) {
      log.warn('connection to systemd closed, reconnecting');
      await clock.sleep(reconnectMs, this.#over.signal).catch(() => {});
      if (this.#over.signal.aborted) return;
      try {
        await this.#open();
        for (const path of this.#listeners.keys()) this.#changed(path);
        return;
      } catch (error) {
        log.warn('no connection to systemd', { error });
      }
    }
  }

  #onSignal({ member, path = '', body }: Message): void {
    if (member === 'JobRemoved') for (const listener of [...this.#jobs]) listener(String(body[1]), String(body[3]));
    else if (member === 'PropertiesChanged') this.#changed(path);
    else if (member === 'UnitFilesChanged' || (member === 'Reloading' && body[0] === false))
      for (const unit of this.#listeners.keys()) this.#changed(unit);
  }

  #changed(path: string): void {
    for (const listener of this.#listeners.get(path) ?? []) listener();
  }
}

/** On its own socket systemd has no name. */
function addressed({ destination, ...direct }: Call, isBus: boolean): Call {
  return isBus && destination !== undefined ? { ...direct, destination } : direct;
}

const managerRule = (member: string) =>
  `type='signal',sender='${destination}',path='${managerPath}',member='${member}'`;
const unitRule = (path: string) => `type='signal',sender='${destination}',path='${path}',member='PropertiesChanged'`;

/** Letters and digits stay, all else is `_` and two hex digits. */
export function unitPath(unit: string): string {
  const escaped = [...Buffer.from(unit)].map((byte, at) => {
    const char = String.fromCharCode(byte);
    return /[a-zA-Z]/.test(char) || (at > 0 && /\d/.test(char)) ? char : `_${byte.toString(16).padStart(2, '0')}`;
  });
  return `${managerPath}/unit/${escaped.join('')}`;
}

/** By its name, not its class: each bundle has its own copy. */
export const isNoSuchUnit = (error: unknown): boolean =>
  (error as Partial<CallFailed> | undefined)?.errorName === `${destination}.NoSuchUnit`;

function unitState(all: Record<string, unknown>): UnitState {
  const text = (name: string) => (typeof all[name] === 'string' ? (all[name] as string) : '');
  const number = (name: string) => Number(all[name] ?? 0);
  return {
    loadState: text('LoadState'),
    activeState: text('ActiveState'),
    subState: text('SubState'),
    invocationId: Buffer.from((all.InvocationID ?? []) as number[]).toString('hex'),
    mainPid: number('MainPID'),
    hasJob: ((all.Job ?? [0]) as [number])[0] !== 0,
    unitFileState: text('UnitFileState'),
    fragmentPath: text('FragmentPath'),
    dropInPaths: (all.DropInPaths ?? []) as string[],
    needDaemonReload: all.NeedDaemonReload === true,
    execStart: ((all.ExecStart ?? []) as [string, string[]][]).map(([, words]) => words),
    environment: (all.Environment ?? []) as string[],
    environmentFiles: ((all.EnvironmentFiles ?? []) as [string, boolean][]).map(([path, optional]) => ({
      path,
      optional,
    })),
    user: text('User'),
    result: text('Result'),
    execMainCode: number('ExecMainCode'),
    execMainStatus: number('ExecMainStatus'),
    execMainStartUs: number('ExecMainStartTimestampMonotonic'),
  };
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** The command of a transient service. */
export const execStart = ([program, ...args]: string[]): Variant =>
  variant('a(sasb)', [[program, [program, ...args], false]]);
