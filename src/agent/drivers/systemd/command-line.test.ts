/** The config of a unit's process, read from its command line. */
import { expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { systemClock } from '../../../clock.js';
import { silentLog } from '../../../log.js';
import { ByCommandLine } from './command-line.js';
import { configFile, hostLayout } from './host-layout.js';
import { OwnFiles } from './own-files.js';
import type { Systemd, UnitState } from './systemd.js';

const layout = hostLayout({ unit: 'kubelet.service', dir: '/var/lib/relet' });
const digest = 'd'.repeat(64);
const kubelet = ['/usr/bin/kubelet', '--config=/etc/config.yaml', `--config=${configFile(layout, digest)}`];
const unit = { mainPid: 7, invocationId: 'i1', loadState: 'masked' } as UnitState;

/** Reads the process as often as it has command lines. */
function look(...commandLines: string[][]) {
  const left = [...commandLines];
  const run = async () => ({
    code: 0,
    stdout: left
      .shift()!
      .map((word) => `${word}\0`)
      .join(''),
    stderr: '',
  });
  const byCommandLine = new ByCommandLine({
    systemd: {} as Systemd,
    own: new OwnFiles(layout, temporaryDir()),
    run,
    systemdStartedUs: 0,
    trial: { failedStarts: 3, healthDeadlineMs: 60_000 },
    clock: { ...systemClock, sleep: async () => {} },
    log: silentLog,
  });
  return byCommandLine.look(unit);
}

test.each([
  ['systemd 254 and later', ['/usr/lib/systemd/systemd-executor', '--deserialize', '82']],
  ['systemd 253 and earlier', ['/sbin/init']],
  ['systemd 253 and earlier, a moment later', ['(kubelet)']],
])('a process that is not the kubelet yet runs no config, %s', async (_name, own) => {
  expect(await look(own, own, kubelet)).toMatchObject({ running: digest });
});

test('a process that exits before it becomes the kubelet runs no config', async () => {
  expect((await look(['(kubelet)'], [])).running).toBeUndefined();
});
