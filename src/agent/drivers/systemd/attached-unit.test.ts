/** An agent that is killed while it changes the unit: the next one does not report that as a change by others. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { systemClock } from '../../../clock.js';
import { silentLog } from '../../../log.js';
import { NodeState } from '../../state/node-state.js';
import type { StartedConfig } from '../driver.js';
import { AttachedUnit } from './attached-unit.js';
import { UnitHost } from './host.js';
import { hostLayout } from './host-layout.js';
import { OwnFiles } from './own-files.js';
import type { Systemd, UnitState } from './systemd.js';

const layout = hostLayout({ unit: 'kubelet.service', dir: '/var/lib/relet' });
const fragmentPath = '/usr/lib/systemd/system/kubelet.service';
const local: StartedConfig = { source: undefined, file: undefined };

/** A host whose kubelet runs what systemd has loaded. */
class Host {
  readonly root = temporaryDir();
  #dropInPaths: string[] = [];
  #command = ['/usr/bin/kubelet'];

  constructor() {
    for (const dir of [dirname(fragmentPath), join(layout.dir, 'meta')])
      mkdirSync(join(this.root, dir), { recursive: true });
    writeFileSync(join(this.root, fragmentPath), '[Service]\nExecStart=/usr/bin/kubelet\n');
  }

  config(name: string): StartedConfig {
    const file = join(this.root, name);
    writeFileSync(file, name);
    return {
      source: { namespace: 'n', name, uid: name, resourceVersion: '1', kubeletConfigKey: 'kubelet' },
      file,
    };
  }

  remove(path: string): void {
    rmSync(join(this.root, path));
  }

  /** `killed`: it reloads systemd and does no more. */
  agent(killed?: () => void) {
    const systemd: Partial<Systemd> = {
      unit: async () => this.#unit(),
      reload: async () => {
        const { good, fallback, trial } = layout.dropIn;
        this.#dropInPaths = [good, fallback, trial].filter((path) => existsSync(join(this.root, path)));
        const last = this.#dropInPaths.at(-1);
        const text = last === undefined ? '' : readFileSync(join(this.root, last), 'utf8');
        this.#command = ['/usr/bin/kubelet', ...(/--config=\S+/.exec(text) ?? [])];
        if (killed === undefined) return;
        killed();
        await new Promise(() => {});
      },
      start: async () => 'done',
      stop: async () => 'done',
    };
    const state = new NodeState(join(this.root, layout.dir), silentLog);
    const own = new OwnFiles(layout, this.root);
    const options = {
      systemd: systemd as Systemd,
      own,
      run: async () => ({ code: 0, stdout: `${this.#command.join('\0')}\0`, stderr: '' }),
      systemdStartedUs: 0,
      trial: { failedStarts: 3, healthDeadlineMs: 60_000 },
      clock: systemClock,
      log: silentLog,
    };
    const host = new UnitHost(options);
    const unit = new AttachedUnit({ ...options, host, state, bootId: 'boot' });
    return {
      own,
      keep: (config: StartedConfig) => unit.keep(config),
      tryOut: async (config: StartedConfig) =>
        unit.installTrial(await host.view(), unit.store(config), { isNow: true }),
      reasons: async () => {
        await unit.look();
        return unit.notices().map(({ reason }) => reason);
      },
    };
  }

  #unit(): UnitState {
    const state = { loadState: 'loaded', activeState: 'active', mainPid: 7, unitFileState: 'enabled' };
    const invocationId = this.#command.join();
    const execStart = [this.#command];
    return { ...state, invocationId, fragmentPath, dropInPaths: this.#dropInPaths, execStart } as UnitState;
  }
}

test.each([
  ['a config', (host: Host) => host.config('b')],
  ['the local config', () => local],
])('killed while it keeps %s', async (_name, next) => {
  const host = new Host();
  const before = host.agent();
  const [first, second] = [host.config('a'), next(host)];
  await before.tryOut(first);
  await before.keep(first);
  await before.tryOut(second);
  await new Promise<void>((killed) => void host.agent(killed).keep(second));
  expect(await host.agent().reasons()).toEqual([]);
});

test('killed after one trial took the place of another, which systemd then rolled back', async () => {
  const host = new Host();
  await host.agent().tryOut(host.config('a'));
  await new Promise<void>((killed) => void host.agent(killed).tryOut(host.config('b')));
  host.remove(layout.dropIn.trial);
  const { own, reasons } = host.agent();
  own.setMark('rolled-back', 'b crash');
  expect(await reasons()).toEqual([]);
});

test('a trial that others removed is reported', async () => {
  const host = new Host();
  await host.agent().tryOut(host.config('a'));
  host.remove(layout.dropIn.trial);
  expect(await host.agent().reasons()).toEqual(['DropInRemoved']);
});
