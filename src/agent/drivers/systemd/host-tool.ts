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
usage='usage: relet node status|view|use-local|retry|hold|release|accept-unsigned, relet detach --host'

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

keep() {
  mkdir -p "$meta"
  printf '%s\\n' "$2" >"$meta/$1.$$" && mv -f "$meta/$1.$$" "$meta/$1"
}

leave() { keep request "$1"; }

json() { printf '%s' "$1" | tr -d '\\001-\\037' | sed 's/["\\\\]/\\\\&/g'; }

# The time counts from now, whenever the next agent runs.
accept_unsigned() {
  duration='' reason=''
  while [ $# -gt 0 ]; do
    case $1 in
      --for=*) duration=\${1#*=} ;;
      --reason=*) reason=\${1#*=} ;;
      --for) duration=\${2:-} ;;
      --reason) reason=\${2:-} ;;
      *) return 1 ;;
    esac
    case $1 in *=*) ;; *) [ $# -gt 1 ] && shift ;; esac
    shift
  done
  number=\${duration%[smh]}
  case $number in '' | *[!0-9]* | 0?* | ??????*) return 1 ;; esac
  case $duration in *s) seconds=$number ;; *m) seconds=$((number * 60)) ;; *h) seconds=$((number * 3600)) ;; *) return 1 ;; esac
  [ "$seconds" -le 86400 ] && [ -n "$reason" ] || return 1
  since=$(date +%s)
  who=\${SUDO_USER:-\${USER:-}}
  [ -z "$who" ] || who=$(printf ',"who":"%s"' "$(json "$who")")
  keep accept-unsigned "$(printf '{"since":%s,"until":%s,"why":"%s"%s}' "$since" $((since + seconds)) "$(json "$reason")" "$who")"
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
  "node accept-unsigned")
    shift 2
    if ! accept_unsigned "$@"; then
      echo "relet: accept-unsigned needs --for, of at most 24h such as 30m or 1h (0s ends it), and --reason" >&2
      exit 2
    fi
    echo "accept-unsigned: for $duration from now; takes effect when an agent runs" ;;
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
