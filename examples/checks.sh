# Sourced by the walkthroughs: prints each command, runs it in this shell, and checks the result.
# The first result that is not as expected ends the walkthrough with exit code 1.

PROXY_PORT=${PROXY_PORT:-8001} # where `kubectl proxy` listens; the pages say 8001
patience=${PATIENCE:-30}       # seconds until something that should come true counts as failed

for program in relet kubectl curl jq; do
  command -v "$program" > /dev/null || { echo "this walkthrough needs $program, which is not here" >&2; exit 2; }
done

WORK=$(mktemp -d)
DATA=$WORK/data
export KUBECONFIG=$DATA/admin.kubeconfig HOME=$WORK EDITOR=$WORK/editor
unset KUBE_EDITOR
cd "$WORK"

clean_up() {
  local status=$?
  trap - EXIT
  [ "$status" = 0 ] || show_state
  [ -f "$DATA/apiserver.pid" ] && kill -CONT "$(cat "$DATA/apiserver.pid")" 2> /dev/null
  [ -z "$(jobs -p)" ] || kill $(jobs -p) 2> /dev/null
  relet down --data-dir "$DATA" > /dev/null 2>&1
  cd / && rm -rf "$WORK"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

show_state() {
  echo "--- it failed here; the node and the end of its log:"
  kubectl get node "${NODE_NAME:-node-1}" -o json 2> /dev/null | jq '{spec, config: .status.config, ok: .status.conditions|map(select(.type=="ConfigOK"))}'
  tail -n 15 "$DATA/nodes/${NODE_NAME:-node-1}/log"
} >&2

step() { printf '\n# %s\n' "$*"; }

fail() { echo "NOT AS EXPECTED: $*" >&2; exit 1; }

# Prints and runs its argument, or its standard input.
run() {
  local command=${1:-$(cat)}
  printf '$ %s\n' "$command"
  eval "${command//8001/$PROXY_PORT}"
}

# As run, but the command must fail, and its output must contain the text.
refused() {
  local text=$1 command=$2 output
  printf '$ %s\n' "$command"
  if output=$(eval "$command" 2>&1); then fail "this should have been refused: $command"; fi
  echo "$output"
  case $output in *"$text"*) ;; *) fail "refused, but without saying: $text" ;; esac
}

# Waits until a command succeeds.
eventually() {
  local end=$((SECONDS + patience))
  until eval "$2" > /dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$1 (never came true: $2)"
    sleep 0.1
  done
  echo "  ok: $1"
}

# Through the proxy, since it is asked many times, and curl is quicker than kubectl.
node_json() { curl -sSf "http://localhost:$PROXY_PORT/api/v1/nodes/${2:-$NODE_NAME}" | jq -e "$1"; }

# Waits until the node satisfies a jq expression, and says so.
node_is() { eventually "$1" "node_json '$2' ${3:-$NODE_NAME}"; }

# The text is in the node's log, as in the pages.
in_log() {
  eventually "in the log, word for word: $1" "grep -qF -- '$1' '$DATA/nodes/${2:-$NODE_NAME}/log'"
}

# What the editor does to the file that `kubectl edit` opens.
editor_adds_under_spec() {
  printf '%s\n' "$1" | sed 's/^/  /' > "$WORK/insert"
  printf '#!/bin/sh\nsed -i "/^spec:/r %s" "$1"\n' "$WORK/insert" > "$EDITOR"
  chmod +x "$EDITOR"
}
editor_removes_config_source() {
  cat > "$EDITOR" << 'END'
#!/bin/sh
awk '/^  configSource:/ { drop = 1; next } drop && /^   / { next } { drop = 0; print }' "$1" > "$1.new" && cat "$1.new" > "$1" && rm "$1.new"
END
  chmod +x "$EDITOR"
}

# A ConfigMap made from a text under a key; prints its name.
config_map() { # NAME KEY TEXT
  printf '%s\n' "$3" > "$WORK/payload"
  kubectl -n kube-system create configmap "$1" --from-file="$2=$WORK/payload" > /dev/null
  kubectl -n kube-system get configmap "$1" -o jsonpath='{.metadata.uid}'
}
