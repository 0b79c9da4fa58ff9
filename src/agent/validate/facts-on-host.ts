/**
 * Facts for the forecast that only the host has: the cgroups that a config names and their usage, and the sysctls that the next boot
 * will set. Read with one command on the host, and only if the config depends on them.
 */
import { cgroupPath, rootPath } from '../../config/forecast/cgroups.js';
import { expectedSysctls } from '../../config/forecast/kernel.js';
import type { CgroupUse, Host, SysctlAtBoot } from '../../config/model.js';
import type { RunCommand } from '../drivers/command.js';

export type HostFacts = Pick<Host, 'cgroups' | 'sysctlsAtBoot'>;

const timeoutMs = 5000;

/** `config` is the document, and the kubelet's flags, as text. Where the host does not answer, nothing is known. */
export async function factsOnHost(run: RunCommand, config: string): Promise<HostFacts> {
  const paths = cgroupsNamedIn(config);
  if (paths.length === 0 && !/protect-?kernel-?defaults/i.test(config)) return {};
  const { code, stdout } = await run(['/bin/sh', '-c', script, 'sh', ...paths], timeoutMs).catch(() => noAnswer);
  return code === 0 ? readFacts(stdout.split('\n')) : {};
}

const noAnswer = { code: null, stdout: '' };
const named = /(?:(?:system|kube)-?Reserved-?Cgroup|(cgroup-?Root))["']?\s*[:=]\s*["']?([^\s"',}]+)/gi;

/** In both ways in which drivers read a name; and those of pods, whose limit follows from every reservation. */
export function cgroupsNamedIn(config: string): string[] {
  if (!/reserved|cgroup-?root/i.test(config)) return [];
  const drivers = ['systemd', 'cgroupfs'].map((driver) => ({ text: () => driver }));
  const paths = [...config.matchAll(named)].flatMap(([, root, name]) =>
    drivers.map((view) => (root === undefined ? cgroupPath : rootPath)(name!, view)),
  );
  const safe = paths.filter((path) => path !== '/' && !path.split('/').includes('..'));
  return [...new Set([...safe, '/kubepods.slice', '/kubepods'])];
}

/** Prints `cgroup PATH none`, or `cgroup PATH MEMORY INACTIVE-FILE PIDS`; `cmdline …`; and `sysctl FILE LINE`, the last file counts. */
const script = `root=/sys/fs/cgroup
for path in "$@"; do
  m=- i=- p=-
  if [ -e $root/cgroup.controllers ]; then dir=$root$path pids=$root$path use=memory.current inactive=inactive_file
  else dir=$root/memory$path pids=$root/pids$path use=memory.usage_in_bytes inactive=total_inactive_file; fi
  [ -d "$dir" ] || { echo "cgroup $path none"; continue; }
  { read -r m <"$dir/$use"; read -r p <"$pids/pids.current"
    while read -r name value; do [ "$name" != $inactive ] || i=$value; done <"$dir/memory.stat"; } 2>/dev/null
  echo "cgroup $path $m $i $p"
done
read -r line </proc/cmdline && echo "cmdline $line"
for dir in /usr/lib /usr/local/lib /run /etc; do
  for file in $dir/sysctl.d/*.conf; do
    [ -r "$file" ] || continue
    echo "file $file"
    while read -r line; do case $line in *overcommit_memory* | *panic* | *root_max*) echo "sysctl $file $line" ;; esac; done <"$file"
  done
done
exit 0`;

export function readFacts(lines: readonly string[]): HostFacts {
  const of = (kind: string) =>
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(' ').slice(1));
  const cgroups = Object.fromEntries(of('cgroup').map(([path, ...use]) => [path, use[0] !== 'none' && useOf(use)]));
  return { cgroups, sysctlsAtBoot: sysctlsOf(of('cmdline')[0] ?? [], of('file').flat(), of('sysctl')) };
}

function useOf([memory, inactive, pids]: string[]): CgroupUse {
  const [bytes, reclaimable, count] = [memory, inactive, pids].map(Number);
  return {
    ...(Number.isFinite(bytes) && { memoryBytes: bytes! - (Number.isFinite(reclaimable) ? reclaimable! : 0) }),
    ...(Number.isFinite(count) && { pids: count! }),
  };
}

/** As systemd-sysctl: by the names of the files, of which a directory later in the list has another one's place. */
function sysctlsOf(cmdline: string[], files: string[], lines: string[][]): Record<string, SysctlAtBoot> {
  const panic = cmdline.findLast((word) => word.startsWith('panic='));
  const found: Record<string, SysctlAtBoot> = {};
  if (panic !== undefined) found['kernel.panic'] = { value: panic.slice(6), by: 'the command line of the kernel' };
  const byName = new Map(files.map((file) => [file.slice(file.lastIndexOf('/') + 1), file]));
  for (const file of [...byName.keys()].sort().map((name) => byName.get(name)!))
    for (const [, ...words] of lines.filter(([of]) => of === file)) {
      const [, name = '', value = ''] = /^-?\s*([^=]+?)\s*=\s*(.*)$/.exec(words.join(' ')) ?? [];
      const sysctl = name.replaceAll('/', '.');
      if (Object.hasOwn(expectedSysctls, sysctl)) found[sysctl] = { value: value.trim(), by: file };
    }
  return found;
}
