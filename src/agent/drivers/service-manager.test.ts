/** Whether a service manager would start relet again after it exits with 0. */
import { describe, expect, test } from 'vitest';
import { restartComplaint } from './service-manager.js';

const asks = (restart: string) => {
  const asked: string[] = [];
  const run = async (command: string[]) => {
    asked.push(command.join(' '));
    return { code: 0, stdout: `${restart}\n`, stderr: '' };
  };
  return { asked, run };
};
const cgroup = '0::/system.slice/kubelet.service\n';

describe('--on-change=exit under systemd', () => {
  test.each(['on-failure', 'no', 'on-abnormal'])(
    'Restart=%s would leave the kubelet down, and that is said',
    async (restart) => {
      const host = asks(restart);
      expect(await restartComplaint(host.run, cgroup)).toBe(
        `--on-change=exit exits with 0, and kubelet.service has Restart=${restart}: the kubelet would stay down. Set Restart=always, or use --on-change=restart`,
      );
      expect(host.asked).toEqual(['systemctl show -p Restart --value kubelet.service']);
    },
  );

  test.each(['always', ''])('Restart=%s is accepted', async (restart) => {
    expect(await restartComplaint(asks(restart).run, cgroup)).toBeUndefined();
  });

  test('a control group of version 1 names the unit too', async () => {
    const versionOne = '4:memory:/\n1:name=systemd:/system.slice/my-kubelet.service\n';
    expect(await restartComplaint(asks('no').run, versionOne)).toContain('my-kubelet.service has Restart=no');
  });

  test('outside of a service nobody is asked', async () => {
    const host = asks('no');
    expect(await restartComplaint(host.run, '0::/user.slice/session-1.scope\n')).toBeUndefined();
    expect(host.asked).toEqual([]);
  });

  test('a systemctl that cannot be run gives no complaint', async () => {
    const run = () => Promise.reject(new Error('ENOENT'));
    expect(await restartComplaint(run, cgroup)).toBeUndefined();
  });
});
