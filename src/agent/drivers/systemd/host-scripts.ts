/**
 * The shell script that relet installs on the host, and the units that run it, as text. The script counts exits of the kubelet and
 * falls back to the kept config even if no agent runs. It uses POSIX shell, systemctl and journalctl only, and a crash after any step
 * is safe.
 *
 *   exited     after each exit of the kubelet (ExecStopPost= of relet's drop-ins): counts crashes. The one that reaches the
 *              limit: trial → rollback, kept config → fallback to local, local after that → return to good, once
 *   begin      before a kubelet on trial starts: saves the cgroup limits, which that kubelet may change. For an embedded kubelet
 *              before each start: installs the file that it reads, and arms the deadline
 *   rollback   restores these limits, removes the trial, restarts the kubelet with the kept config. Also started by the agent and by
 *              the deadline timer
 *   fallback   the local config instead of the kept one, until the next boot or until the agent keeps another one
 *   local      the same at once, for an operator on a host without an agent
 *   arm        the deadline of a trial that was staged, when it starts
 */
import { type Embedding, type HostLayout, type OwnUnit, unitNames } from './host-layout.js';

export function hostScript(layout: HostLayout): string {
  const { unit, runDir, exitsDir, fallbackText, dropIn, units, embedded } = layout;
  const parts = embedded === undefined ? inUnit : embeddedParts({ ...layout, embedded });
  return `#!/bin/sh
# relet: counts exits of ${unit} and returns from a config that failed. Run by systemd; 'relet detach' removes it.
set -u
unit=${unit}
root=\${RELET_ROOT:-}
run=$root${runDir}
exits=$root${exitsDir}
trial=$root${dropIn.trial}
fallback=$root${dropIn.fallback}
deadline=$root${units.deadline}
control=$root/run/systemd/system.control
cgroups=$root/sys/fs/cgroup
show() { systemctl show --value -p "$1" "$unit"; }
# A file is there whole or not at all.
put() { cat >"$1.$$" && mv -f "$1.$$" "$1"; }
# Up to ten seconds, until the command succeeds.
wait_until() {
  left=100
  while ! "$@" && [ $left -gt 0 ]; do sleep 0.1 && left=$((left - 1)); done
}
config_of() { sed -n 's/^# relet: config=\\([0-9a-z]*\\) .*/\\1/p' "$1" | head -n 1; }

${parts.functions}
exited() {
  ${parts.whatRan}
  rolled_back=no by_itself=no
  # The drop-in that is effective counts; the others are read too.
  case $kind in
    # After a return from local, what fails is not the config: no exit speaks against it.
    good) [ ! -e "$trial" ] && [ ! -e "$fallback" ] && [ ! -e "$run/fell-back" ] || return 0 ;;
    fallback) [ ! -e "$trial" ] || return 0 ;;
    trial) [ "$INVOCATION_ID" != "$(cat "$run/before" 2>/dev/null)" ] || return 0 ;;
  esac
  mkdir -p "$exits"
  start=$(show ExecMainStartTimestampMonotonic) end=$(show ExecMainExitTimestampMonotonic)
  seconds=$(((\${end:-0} - \${start:-0}) / 1000000))
  count=0
  if [ -r "$run/count" ]; then
    read -r counted_kind counted_config counted <"$run/count"
    [ "$counted_kind $counted_config" != "$kind $config" ] || count=$counted
  fi
  # A run that lasted shows that the config starts.
  [ "$seconds" -lt "$long" ] || count=0
  case $SERVICE_RESULT-\${EXIT_STATUS:-} in${parts.byItself}
    # An operator's stop or restart, and signals that a kubelet only gets from outside.
    success-* | signal-TERM | signal-KILL | signal-INT | signal-HUP | signal-QUIT | signal-USR1 | signal-USR2) ;;
    *) count=$((count + 1)) ;;
  esac
  echo "$kind $config $count" | put "$run/count"
  [ "$SERVICE_RESULT" != success ] || [ $by_itself = yes ] || return 0
  [ "$count" -lt "$limit" ] || rolled_back=yes
  timeout 2 journalctl --sync 2>/dev/null
  timeout 5 journalctl -q --no-pager --all -o cat -n 500 "_SYSTEMD_INVOCATION_ID=$INVOCATION_ID" _TRANSPORT=stdout 2>/dev/null |
    tail -c 65536 | put "$exits/$INVOCATION_ID.log"
  printf 'kind=%s\\nconfig=%s\\nresult=%s\\ncode=%s\\nstatus=%s\\nat=%s\\nrolledBack=%s\\nbyItself=%s\\n' "$kind" \\
    "$config" "$SERVICE_RESULT" "\${EXIT_CODE:-}" "\${EXIT_STATUS:-}" "\${end:-0}" $rolled_back $by_itself | put "$exits/$INVOCATION_ID"
  # Only the newest are kept: an agent that comes back needs no more.
  ls -t "$exits" | tail -n +41 | while read -r old; do rm -f "$exits/$old"; done
  [ $rolled_back = yes ] || return 0
  rm -f "$run/count" "$run/reloaded"
  case $kind in
    trial) echo crash >"$run/why" && systemctl start --no-block ${unitNames.rollback} ;;
    good) systemctl start --no-block ${unitNames.fallback} ;;
    fallback) systemctl start --no-block ${unitNames.returnToGood} ;;
  esac
  # systemd starts the unit again when this has ended: not before it knows another command.
  wait_until test -e "$run/reloaded"
}

# The limits of cgroups beside those of pods, and the properties of slices that were set at run time. A kubelet sets both where
# enforceNodeAllocatable has system-reserved or kube-reserved, and nothing takes them back.
begin() {
  [ ! -e "$run/limits" ] || return 0
  for dir in "$cgroups"/*/ "$cgroups"/*/*.slice/; do
    case $dir in */kubepods* | *'*'*) continue ;; esac
    for name in memory.max memory.high memory.low memory.min memory.limit_in_bytes pids.max cpu.max cpu.weight cpu.shares \
      cpu.cfs_quota_us cpuset.cpus; do
      { read -r value <"$dir$name"; } 2>/dev/null && echo "$dir$name $value"
    done
  done | put "$run/limits"
  rm -rf "$run/control"
  cp -R "$control" "$run/control" 2>/dev/null || mkdir -p "$run/control"
}

# First the limits themselves: with them, nothing else may get memory or CPU.
put_back() {
  [ -e "$run/limits" ] || return 0
  while read -r file before; do
    { read -r now <"$file"; } 2>/dev/null || continue
    [ "$now" != "$before" ] || continue
    if { echo "$before" >"$file"; } 2>/dev/null; then result=put-back; else result=left; fi
    echo "$result \${file#"$cgroups"/} $now $before"
  done <"$run/limits" | put "$run/limits-after"
  for file in "$control"/*.slice.d/*; do
    case $file in */kubepods* | *'*'*) continue ;; esac
    before=$run/control/\${file#"$control"/}
    if [ ! -e "$before" ]; then rm -f "$file" && rmdir "\${file%/*}" 2>/dev/null
    elif [ "$(cat "$before")" != "$(cat "$file")" ]; then put "$file" <"$before"
    fi
  done
  rm -rf "$run/limits" "$run/control"
}

has_stopped() { [ "$(show ActiveState)" != deactivating ]; }

# Not a unit that an operator stopped, and not one that still runs what it ran before the trial.
restart() {
  ${parts.reload}
  : >"$run/reloaded"
  # A restart of a unit that is stopping would wait for its RestartSec=.
  wait_until has_stopped
  state=$(show ActiveState)
  [ "$state" != inactive ] || return 0
  [ "$state" != active ] || [ "$(show InvocationID)" != "$(cat "$run/before" 2>/dev/null)" ] || return 0
  systemctl reset-failed "$unit" 2>/dev/null
  systemctl restart --no-block "$unit"
}

rollback() {
  [ -e "$trial" ] || return 0${parts.isOver}
  put_back
  why=$(cat "$run/why" 2>/dev/null || echo deadline)
  echo "$(config_of "$trial") $why" | put "$run/rolled-back"
  rm -f "$trial" "$run/why" "$run/count"${parts.deadline}
  systemctl stop --no-block ${unitNames.deadline} 2>/dev/null
  restart
}

fall_back() {
  [ ! -e "$run/fell-back" ] && [ -e "$root${dropIn.good}" ] || return 0
  config_of "$root${dropIn.good}" | put "$run/fell-back"
  mkdir -p "\${fallback%/*}"
  cp "$root${fallbackText}" "$fallback.$$" && mv -f "$fallback.$$" "$fallback"
  rm -f "$run/count" "$run/before"
  restart
}

use_local() {
  rm -f "$trial" "$run/count" "$run/before"${parts.deadline}
  systemctl stop --no-block ${unitNames.deadline} 2>/dev/null
  if [ -e "$root${dropIn.good}" ]; then
    config_of "$root${dropIn.good}" | put "$run/fell-back"
    mkdir -p "\${fallback%/*}"
    cp "$root${fallbackText}" "$fallback.$$" && mv -f "$fallback.$$" "$fallback"
  fi
  restart
}

return_to_good() {
  [ -e "$fallback" ] || return 0
  rm -f "$fallback" "$run/count" "$run/before"
  rm -rf "$exits"
  restart
}

# OnActiveSec= would start again with every daemon-reload; OnStartupSec= counts from the start of systemd.
arm() {
  [ ! -e "$run/confirmed" ] && [ ! -e "$deadline" ] || return 0
  begun=$(show InactiveExitTimestampMonotonic)
  base=$(systemctl show --value -p UserspaceTimestampMonotonic)
  printf '${deadlineTimer('%s').replaceAll('\n', '\\n')}' $(((begun - base) / 1000 + $1 * 1000)) | put "$deadline"
  systemctl start --no-block ${unitNames.deadline}
}

verb=$1
shift
mkdir -p "$run"
case $verb in
  begin) ${parts.begin} ;;
  exited) exited "$@" ;;
  rollback) rollback ;;
  fallback) fall_back ;;
  local) use_local ;;
  return-to-good) return_to_good ;;
  arm) arm "$@" ;;
esac
exit 0
`;
}

/** Parts of the script that depend on how the kubelet gets its config. */
interface ScriptParts {
  functions: string;
  /** Sets kind, config, limit and long from the arguments of `exited`. */
  whatRan: string;
  /** More patterns of a result and status. */
  byItself: string;
  reload: string;
  isOver: string;
  /** More files of a trial. */
  deadline: string;
  /** Before a start. */
  begin: string;
}

const inUnit: ScriptParts = {
  functions: '',
  whatRan: 'kind=$1 config=$2 limit=$3 long=$4',
  byItself: '',
  reload: 'systemctl daemon-reload',
  isOver: '',
  deadline: ' "$deadline"',
  begin: 'begin',
};

/** Lines of the journal that show that the kubelet was started: before, k3s waits for an API server. */
const kubeletLines: Record<Embedding['program'], string> = {
  k3s: 'Kubelet version|kubelet exited|kubelet panic',
  rke2: 'Running kubelet',
};

function embeddedParts({
  embedded,
  configsDir,
  dropIn,
}: HostLayout & Required<Pick<HostLayout, 'embedded'>>): ScriptParts {
  const { program, installed } = embedded;
  return {
    functions: `
installed=$root${installed}
uptime() { sed 's/[. ].*//' "$root/proc/uptime"; }
has_kubelet() {
  timeout 5 journalctl -q --no-pager --all -o cat "_SYSTEMD_INVOCATION_ID=$1" 2>/dev/null |
    grep -qE '${kubeletLines[program]}'
}
# A stop or a restart that somebody ordered: k3s exits with 0 after an error of its kubelet.
is_stopped() { systemctl list-jobs --plain --no-legend "$unit" 2>/dev/null | grep -qE ' (stop|restart) '; }

# In place of drop-ins of the unit: what the kubelet is to read.
install_config() {
  for kind in trial fallback good local; do
    case $kind in trial) file=$trial ;; fallback) file=$fallback ;; good) file=$root${dropIn.good} ;; local) break ;; esac
    [ ! -e "$file" ] || break
  done
  config=local
  [ $kind = local ] || config=$(config_of "$file")
  [ $kind != trial ] || [ -e "$run/confirmed" ] || systemctl start --no-block ${unitNames.deadline}
  rm -f "$installed"
  if [ "$config" != local ]; then
    new=\${installed%.conf}.$$
    { echo "# relet: config=$config base=0000000000000000" && cat "$root${configsDir}/$config/kubelet.yaml"; } >"$new" &&
      chmod 600 "$new" && mv -f "$new" "$installed" || { rm -f "$new" && kind=failed; }
  fi
  echo "$kind $config $INVOCATION_ID $(uptime)" | put "$run/started"
}

# Only a kubelet that was started can be late.
is_late() {
  [ ! -e "$run/confirmed" ] || return 1
  read -r kind config invocation since <"$run/started" || return 1
  [ $kind = trial ] || return 1
  limit=$(sed -n 's/^# relet: deadline=//p' "$trial")
  [ $(($(uptime) - since)) -ge "$limit" ] || return 1
  has_kubelet "$invocation" && return 0
  echo "$kind $config $invocation $(uptime)" | put "$run/started"
  return 1
}
`,
    whatRan: `limit=$1 long=$2
  read -r kind config invocation _ <"$run/started" && [ "$invocation" = "$INVOCATION_ID" ] || return 0
  # A trial that was passed.
  [ $kind != trial ] || [ -e "$trial" ] || kind=good
  case $kind in local | failed) return 0 ;; esac
  timeout 2 journalctl --sync 2>/dev/null
  ! is_stopped || return 0
  # 203: there is no such program.
  [ "\${EXIT_STATUS:-}" = 203 ] || has_kubelet "$INVOCATION_ID" || return 0`,
    byItself: `
    success-*) by_itself=yes count=$((count + 1)) ;;`,
    reload: ':',
    isOver: `
  [ -e "$run/why" ] || is_late || return 0`,
    deadline: '',
    begin: '{ [ ! -e "$trial" ] || begin; } && install_config',
  };
}

/** At this many milliseconds from the start of systemd; not to the minute, as timers are without AccuracySec=. */
export function deadlineTimer(afterStartupMs: number | '%s'): string {
  return `# relet: removed when the config has answered, or by relet detach.
[Unit]
Description=relet: the deadline of a kubelet config on trial
[Timer]
OnStartupSec=${afterStartupMs}ms
AccuracySec=100ms
Unit=${unitNames.rollback}
`;
}

/** For an embedded kubelet: always the same, since no switch reloads systemd. The script decides when the trial is over. */
export const repeatingTimer = `# relet: 'relet detach' removes it.
[Unit]
Description=relet: looks for the deadline of a kubelet config on trial
[Timer]
OnActiveSec=5s
OnUnitInactiveSec=5s
AccuracySec=100ms
Unit=${unitNames.rollback}
`;

/** Outside of every slice that a kubelet limits, and the last to be killed: it is needed when a config leaves the host no memory. */
const protection = `Slice=-.slice
OOMScoreAdjust=-999
MemoryMin=16M
CPUWeight=1000
`;

const verbs: Record<Exclude<OwnUnit, 'deadline'>, [verb: string, description: string]> = {
  rollback: ['rollback', 'return from the kubelet config on trial'],
  fallback: ['fallback', 'the local kubelet config, since the last known good one keeps crashing'],
  returnToGood: ['return-to-good', 'the last known good kubelet config again, since the local one crashes too'],
};

export function unitText({ script }: HostLayout, unit: keyof typeof verbs): string {
  const [verb, description] = verbs[unit];
  return `# relet: 'relet detach' removes it.
[Unit]
Description=relet: ${description}
StartLimitIntervalSec=0
[Service]
Type=oneshot
ExecStart=/bin/sh ${script} ${verb}
${protection}`;
}
