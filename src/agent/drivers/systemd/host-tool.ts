/**
 * The `relet` command for hosts without Node.js, as text: a shell script that runs the relet of the agent, in its pod or on the host.
 * If no agent runs, it does the urgent part itself and leaves a request for the next agent. Needs POSIX shell, nsenter and systemctl.
 */
import { dirname } from 'node:path';
import { type HostLayout, lockPath, unitNames } from './host-layout.js';

export function hostTool(layout: HostLayout): string {
  const { unit, dir, script, dropIn, units, configsDir, fallbackText, runDir, embedded } = layout;
  const quoted = (paths: string[]) => paths.map((path) => `"$root${path}"`).join(' ');
  // In the order in which they apply.
  const inOrder = [dropIn.good, dropIn.fallback, dropIn.trial];
  const ofEmbedded = embedded === undefined ? [] : [embedded.unitDropIn, embedded.installed];
  const own = [...inOrder, ...Object.values(units), script, fallbackText, ...ofEmbedded];
  const dirs = [...new Set([...inOrder, ...ofEmbedded.slice(0, 1)].map(dirname))];
  return `#!/bin/sh
# relet on this host: 'relet node …' and 'relet detach --host'. Kept by the agent; 'relet detach' removes it.
set -u
root=\${RELET_ROOT:-}
meta=$root${dir}/meta
usage='usage: relet node status|view|use-local|retry|hold|release, relet detach --host'

# The process that holds the agent's socket. Its pod is in the network of the host; so may be containers with a socket of that name.
agent() {
  for inode in $(sed -n 's|^.* 00010000 .* \\([0-9]*\\) ${lockPath}$|\\1|p' "$root/proc/net/unix" 2>/dev/null); do
    fd=$(find "$root"/proc/[0-9]*/fd -lname "socket:\\[$inode\\]" 2>/dev/null | head -n 1)
    [ -n "$fd" ] || continue
    fd=\${fd#"$root/proc/"}
    echo "\${fd%%/*}"
    return 0
  done
  return 1
}

# The node and the relet of its command line, with other words.
run_in() {
  pid=$1
  shift
  program=$(readlink "/proc/$pid/exe")
  relet=$(tr '\\0' '\\n' <"/proc/$pid/cmdline" | sed -n '/^agent$/{x;p;q;};h')
  exec nsenter -t "$pid" -m -p -r -w -- "$program" "$relet" "$@"
}

leave() {
  mkdir -p "$meta"
  printf '%s\\n' "$1" >"$meta/request.$$" && mv -f "$meta/request.$$" "$meta/request"
}

show() { systemctl show --value -p "$1" ${unit}; }

status() {
  echo "relet:           not running on this host"
  echo "kubelet:         ${unit} is $(show ActiveState) ($(show SubState))"
  next=local
  for file in ${quoted(inOrder)}; do
    [ -e "$file" ] || continue
    next=$(sed -n 's/^# relet: config=\\([0-9a-z]*\\) .*/\\1/p' "$file" | head -n 1)
    echo "drop-in:         $file"
  done
  [ "$next" = local ] || next="$root${configsDir}/$next/kubelet.yaml"
  echo "next start:      $next"
  for record in assigned last-known-good; do
    name=$(sed -n 's/^ *name: *//p' "$meta/$record" 2>/dev/null | head -n 1)
    echo "$record: \${name:-local}"
  done
}

if pid=$(agent); then run_in "$pid" "$@"; fi
case "\${1:-} \${2:-}" in
  "node status") status ;;
  "node use-local")
    leave '{"verb":"use-local"}'
    sh "$root${script}" local
    echo "use-local: ${unit} is restarted with its local config; the next agent holds the node there until 'release'" ;;
  "node hold") leave '{"verb":"hold","why":"asked for on the host"}' && echo "hold: takes effect when an agent runs" ;;
  "node retry") leave '{"verb":"retry"}' && echo "retry: takes effect when an agent runs" ;;
  "node release") leave '{"verb":"release"}' && echo "release: takes effect when an agent runs" ;;
  "detach " | "detach --host")
    next_is_local=yes
    for file in ${quoted(inOrder)}; do [ ! -e "$file" ] || next_is_local=no; done
    systemctl stop ${unitNames.deadline} 2>/dev/null
    rm -f ${quoted(own)}
    rmdir ${quoted(dirs)} 2>/dev/null
    systemctl daemon-reload
    [ $next_is_local = yes ] || [ "$(show ActiveState)" = inactive ] || systemctl restart ${unit}
    rm -rf "$root${dir}" "$root${runDir}"
    echo "detached: relet's files are removed from this host, and ${unit} runs with its local config" ;;
  *)
    echo "relet: no agent runs on this host; $usage" >&2
    exit 2 ;;
esac
`;
}
