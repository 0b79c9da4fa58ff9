/**
 * `node scripts/vm-image.mjs SUITE DIR` makes the disk of a machine for `npm run test:vm` in DIR: Debian (SUITE: trixie, bookworm)
 * with its kernel, systemd, AppArmor, containerd and an SSH server, without a kubelet. Needs root, mmdebstrap and mke2fs.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from './usage.mjs';

const [suite, dir] = readOptions({ allowPositionals: true }).positionals;
if (dir === undefined) throw new Error('SUITE and DIR are needed; see --help');

const packages = [
  ...['systemd', 'systemd-sysv', 'dbus', 'udev', 'kmod', 'linux-image-cloud-amd64', 'initramfs-tools', 'apparmor'],
  ...['openssh-server', 'iproute2', 'iptables', 'procps', 'mount', 'ca-certificates', 'libstdc++6', 'inotify-tools'],
  ...['containerd', 'containernetworking-plugins'],
];

const files = {
  '/etc/hostname': 'node-a\n',
  '/etc/hosts': '127.0.0.1 localhost\n10.0.2.15 node-a\n',
  '/etc/fstab': '/dev/vda / ext4 defaults,errors=remount-ro 0 1\n',
  '/etc/machine-id': '',
  '/etc/systemd/network/10-eth.network':
    '[Match]\nName=e*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n',
  '/etc/initramfs-tools/initramfs.conf': 'MODULES=list\nCOMPRESS=zstd\n',
  '/etc/initramfs-tools/modules': 'virtio_pci\nvirtio_blk\next4\n',
  '/etc/modules-load.d/kubernetes.conf': 'overlay\nbr_netfilter\n',
  '/etc/sysctl.d/kubernetes.conf': 'net.ipv4.ip_forward=1\n',
  '/etc/cni/net.d/10-bridge.conflist': JSON.stringify({
    cniVersion: '1.0.0',
    name: 'bridge',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.0.0/24' }]] },
      },
    ],
  }),
};

// Nothing that runs on its own disturbs a test.
const enabled = ['systemd-networkd', 'ssh', 'containerd', 'apparmor'];
const masked = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'fstrim.timer',
];
const unused = ['e2scrub_reap.service', 'systemd-networkd-wait-online.service', 'man-db.timer'];

const run = (command, ...args) =>
  execFileSync(command, args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });

mkdirSync(dir, { recursive: true });
const temporary = mkdtempSync(join(tmpdir(), 'relet-vm-image-'));
const root = join(temporary, 'root');
const inRoot = (...command) => run('chroot', root, ...command);
try {
  console.log(`vm-image: installing ${suite}`);
  run('mmdebstrap', '--quiet', '--variant=apt', `--include=${packages.join(',')}`, suite, root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  writeFileSync(join(root, '/etc/containerd/config.toml'), containerdConfig(inRoot('containerd', 'config', 'default')));
  inRoot('systemctl', '--quiet', 'enable', ...enabled);
  inRoot('systemctl', '--quiet', 'mask', ...masked, ...unused);
  inRoot('update-initramfs', '-u');
  giveKey();
  for (const name of ['vmlinuz', 'initrd.img']) cpSync(join(root, 'boot', inBoot(name)), join(dir, name));
  const disk = join(dir, 'disk.raw');
  rmSync(disk, { force: true });
  writeFileSync(disk, '');
  truncateSync(disk, 6 * 2 ** 30);
  run('mke2fs', '-q', '-F', '-t', 'ext4', '-d', root, disk);
  console.log(`vm-image: ${disk}`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

function containerdConfig(text) {
  return text
    .replace('SystemdCgroup = false', 'SystemdCgroup = true')
    .replaceAll('/opt/cni/bin', '/usr/lib/cni')
    .replace(/(sandbox_image = ).*/, '$1"localhost/pause:1"');
}

/** For the tests: the key gives root in the machine, to everyone who can read the directory. */
function giveKey() {
  const key = join(dir, 'id');
  rmSync(key, { force: true });
  run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'test:vm', '-f', key);
  mkdirSync(join(root, 'root/.ssh'), { mode: 0o700, recursive: true });
  writeFileSync(join(root, 'root/.ssh/authorized_keys'), readFileSync(`${key}.pub`));
  chmodSync(join(root, 'root/.ssh/authorized_keys'), 0o600);
}

function inBoot(name) {
  return readdirSync(join(root, 'boot')).find((file) => file.startsWith(`${name}-`));
}
