/** The host as a pod sees it. The mounts are those of a pod under containerd 1.6, shortened. */
import { describe, expect, test } from 'vitest';
import type { Output } from '../../agent/drivers/command.js';
import { hostView, isInPod, mountedDirs, podView } from './host-view.js';

const pod = '/var/lib/kubelet/pods/0d5e';
const mountinfo = `
600 599 0:40 / / ro,relatime - overlay overlay rw
601 600 0:50 / /proc rw - proc proc rw
602 600 0:51 / /dev rw - tmpfs tmpfs rw
603 602 0:52 / /dev/shm rw - tmpfs shm rw
604 600 0:53 / /sys/fs/cgroup ro - cgroup2 cgroup rw
605 600 8:1 ${pod}/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw
606 602 8:1 ${pod}/containers/agent/1a2b /dev/termination-log rw - ext4 /dev/sda1 rw
607 600 8:1 ${pod}/volumes/kubernetes.io~empty-dir/tmp /tmp rw - ext4 /dev/sda1 rw
608 600 8:1 ${pod}/volumes/kubernetes.io~configmap/policy /etc/relet rw - ext4 /dev/sda1 rw
609 600 0:60 / /run/secrets/kubernetes.io/serviceaccount ro - tmpfs tmpfs rw
610 600 0:20 /systemd /run/systemd rw - tmpfs tmpfs rw
611 600 8:1 /etc/systemd/system /etc/systemd/system rw - ext4 /dev/sda1 rw
612 600 8:2 /lib/relet /var/lib/relet rw - ext4 /dev/sda2 rw
613 600 8:2 /lib/my\\040disk /var/lib/my\\040disk rw - ext4 /dev/sda2 rw
`;

const answering = (answers: Record<string, Partial<Output>>) => async (command: string[]) => ({
  code: 0,
  stdout: '',
  stderr: '',
  ...answers[command.join(' ')],
});

describe('a pod', () => {
  test('sees the directories of the host that are mounted, and none of its own', () => {
    expect(mountedDirs(mountinfo)).toEqual([
      '/run/systemd',
      '/etc/systemd/system',
      '/var/lib/relet',
      '/var/lib/my disk',
    ]);
  });

  test.each([
    ['/var/lib/relet', true],
    ['/var/lib/relet/meta/assigned', true],
    ['/var/lib/relet-old', false],
    ['/etc/kubernetes/pki/ca.crt', false],
    ['/tmp/x', false],
  ])('%s is visible: %s', (path, expected) => {
    expect(podView({ mountinfo, run: answering({}) }).isVisible(path)).toBe(expected);
  });

  test('a file that is not mounted is unknown, not missing, and its text is asked for on the host', async () => {
    const view = podView({
      mountinfo,
      run: answering({
        '/bin/cat /etc/default/kubelet': { stdout: 'A=1\n' },
        '/bin/cat /etc/none': { code: 1, stderr: 'cat: /etc/none: No such file or directory' },
        '/bin/cat /etc/shadow': { code: 1, stderr: 'cat: /etc/shadow: Permission denied' },
        '/bin/ls -A /etc/kubernetes/manifests': { stdout: 'etcd.yaml\n' },
      }),
    });
    expect(view.contentOf('/etc/default/kubelet')).toBe('unknown');
    expect(await view.readText('/etc/default/kubelet')).toBe('A=1\n');
    expect(await view.readText('/etc/none')).toBeUndefined();
    await expect(view.readText('/etc/shadow')).rejects.toThrow('Permission denied');
    expect(await view.hasEntries('/etc/kubernetes/manifests')).toBe(true);
    expect(await view.hasEntries('/etc/kubernetes/none')).toBe(false);
  });

  test('a file that is mounted is read, and nothing is asked', async () => {
    const view = podView({ mountinfo: '1 1 8:1 /host /etc rw -', run: () => Promise.reject(new Error('asked')) });
    expect(await view.readText('/etc/passwd')).toContain('root');
    expect(await view.readText('/etc/none')).toBeUndefined();
    expect(await view.hasEntries('/etc')).toBe(true);
    expect(view.contentOf('/etc/passwd')).not.toBe('unknown');
  });
});

test('a pod is known by its mounts where the cluster has no Service kubernetes, and by its environment', () => {
  const onHost =
    '22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:40 / /var/lib/kubelet/pods/0d5e/volumes/x rw - tmpfs tmpfs rw\n';
  expect(isInPod({}, onHost)).toBe(false);
  expect(isInPod({}, mountinfo)).toBe(true);
  expect(isInPod({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }, onHost)).toBe(true);
});

test('a service on the host sees every file, and a missing one is missing', async () => {
  expect(hostView.isVisible('/etc/kubernetes/pki')).toBe(true);
  expect(await hostView.readText(import.meta.filename)).toContain('sees every file');
  expect(await hostView.readText('/nowhere')).toBeUndefined();
});
