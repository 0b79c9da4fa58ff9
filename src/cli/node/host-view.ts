/**
 * The host's files as the agent can read them. A service on the host reads all; a pod reads the directories that are mounted into it
 * under their own path. A file elsewhere is read by a command on the host, or is unknown, but never missing: no config is rejected for
 * it.
 */
import { readFileSync } from 'node:fs';
import type { RunCommand } from '../../agent/drivers/command.js';
import { type HostFiles, systemHostFiles } from '../../agent/host-files.js';

export interface HostView extends HostFiles {
  isVisible(path: string): boolean;
  /** The text of a file; undefined when it is missing. */
  readText(path: string): Promise<string | undefined>;
}

/**
 * The kubelet mounts files of a pod from its own directory into every container, and sets the variable where the cluster has the
 * Service `kubernetes`. A service on the host has neither.
 */
export function isInPod(env: Record<string, string | undefined>, mountinfo: string): boolean {
  if (env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  return /^\d+ \d+ \S+ \S*\/pods\/[^/\s]+\/(etc-hosts|containers\/\S+) (\/etc\/hosts|\/dev\/termination-log) /m.test(
    mountinfo,
  );
}

const commandTimeoutMs = 10_000;

/** `mountinfo` is that of the pod, and `run` runs a command on the host. */
export function podView({ mountinfo, run }: { mountinfo: string; run: RunCommand }): HostView {
  const dirs = mountedDirs(mountinfo);
  const isVisible = (path: string) => dirs.some((dir) => isBelow(path, dir));
  return {
    isVisible,
    contentOf: (path) => (isVisible(path) ? systemHostFiles.contentOf(path) : 'unknown'),
    async hasEntries(path) {
      if (isVisible(path)) return systemHostFiles.hasEntries(path);
      return (await run(['/bin/ls', '-A', path], commandTimeoutMs)).stdout.trim() !== '';
    },
    async readText(path) {
      if (isVisible(path)) return readText(path);
      const { code, stdout, stderr } = await run(['/bin/cat', path], commandTimeoutMs);
      if (code === 0) return stdout;
      if (stderr.includes('No such file')) return undefined;
      throw new Error(`cannot read ${path} on the host: ${stderr.trim() || `exit code ${code}`}`);
    },
  };
}

export const hostView: HostView = {
  ...systemHostFiles,
  isVisible: () => true,
  readText: async (path) => readText(path),
};

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Mounts of the container itself, and volumes of its pod that are not directories of the host. */
const ownMounts = ['/proc', '/sys', '/dev', '/tmp', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/run/secrets'];
const ownVolume = '/kubernetes.io~';

/** The mount points in /proc/self/mountinfo under which the host's files are. */
export function mountedDirs(mountinfo: string): string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [root = '', at = '/'] = line.split(' ').slice(3, 5).map(withoutEscapes);
    const isOwn = at === '/' || root.includes(ownVolume) || ownMounts.some((own) => isBelow(at, own));
    return isOwn ? [] : [at];
  });
}

const isBelow = (path: string, dir: string): boolean => path === dir || path.startsWith(`${dir}/`);

/** A blank in a path is `\040` there. */
const withoutEscapes = (text: string): string =>
  text.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
