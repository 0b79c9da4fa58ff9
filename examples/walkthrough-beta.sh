#!/usr/bin/env bash
# The task page of Kubernetes 1.11, "Reconfigure a Node's Kubelet in a Live Cluster", typed into a shell: every command of
# the page, every row of its error table, and a check behind each. Brings its own system up in a temporary directory.
#
#   examples/walkthrough-beta.sh        needs relet, kubectl (any from 1.20 on), curl and jq
set -euo pipefail
. "$(dirname "$0")/checks.sh"

step 'A cluster with two nodes. Ten minutes of trial are shortened to two seconds, and many changes in a row are not delayed'
run 'relet up --detach --dynamic-kubelet-config --nodes 2 --port 0 --trial-duration 2s --data-dir "$DATA" -- --restart-interval=0s > /dev/null'
run 'kubectl get nodes'

step 'Generate the configuration file'
run 'kubectl proxy --port=8001 &'
eventually 'the proxy listens' 'curl -s "http://localhost:$PROXY_PORT/version"'
run << 'END'
NODE_NAME="node-1"; curl -sSL "http://localhost:8001/api/v1/nodes/${NODE_NAME}/proxy/configz" | jq '.kubeletconfig|.kind="KubeletConfiguration"|.apiVersion="kubelet.config.k8s.io/v1beta1"' > kubelet_configz_${NODE_NAME}
END
run 'jq ".kind, .apiVersion, .eventRecordQPS, .maxPods" kubelet_configz_${NODE_NAME}'
[ "$(jq -c '[.kind, .eventRecordQPS]' kubelet_configz_node-1)" = '["KubeletConfiguration",50]' ] || fail 'configz'

step 'Edit it'
run 'sed -i "s/\"eventRecordQPS\": 50/\"eventRecordQPS\": 60/" kubelet_configz_${NODE_NAME}'

step 'Push it to the control plane'
run 'kubectl -n kube-system create configmap my-node-config --from-file=kubelet=kubelet_configz_${NODE_NAME} --append-hash -o yaml > created.yaml'
run 'grep -A9 "^kind: ConfigMap" created.yaml'
CONFIG_MAP_NAME=$(sed -n 's/^  name: //p' created.yaml)
[[ $CONFIG_MAP_NAME =~ ^my-node-config-[bcdfghjklmnpqrstvwxz2456789mkth]{10}$ ]] || fail "hashed name: $CONFIG_MAP_NAME"

step 'Set the Node to use it, with an editor'
editor_adds_under_spec "configSource:
    configMap:
        name: $CONFIG_MAP_NAME
        namespace: kube-system
        kubeletConfigKey: kubelet"
run 'kubectl edit node ${NODE_NAME}'

step 'Observe that the Node begins using it'
node_is 'assigned' ".status.config.assigned.configMap.name == \"$CONFIG_MAP_NAME\""
node_is 'active' '.status.config.active == .status.config.assigned'
node_is 'last known good, after its trial' '.status.config.lastKnownGood == .status.config.assigned'
run "kubectl get no \${NODE_NAME} -o json | jq '.status.config'"
node_is 'all five fields, and no error' '.status.config | (.active.configMap | keys) == ["kubeletConfigKey","name","namespace","resourceVersion","uid"] and has("error") == false'
eventually 'the kubelet runs with it' 'curl -sS "http://localhost:$PROXY_PORT/api/v1/nodes/node-1/proxy/configz" | jq -e ".kubeletconfig.eventRecordQPS == 60"'
eventually 'the change is an event of the Node' "kubectl get events -o json | jq -e '.items | map(select(.reason==\"KubeletConfigChanged\" and .involvedObject.name==\"node-1\")) | length > 0'"

step 'The checkpoint directory is as the page draws it'
dir=$DATA/nodes/node-1/dynamic-config
uid=$(node_json .status.config.active.configMap.uid | tr -d '"')
version=$(node_json .status.config.active.configMap.resourceVersion | tr -d '"')
run 'ls -d "$dir"/meta/assigned "$dir"/meta/last-known-good "$dir"/checkpoints/*/*'
run 'cat "$dir/meta/assigned"'
cmp -s "$dir/meta/assigned" "$dir/meta/last-known-good" || fail 'both records name the same version'
grep -qx 'kind: SerializedNodeConfigSource' "$dir/meta/assigned" || fail 'meta/assigned is a SerializedNodeConfigSource'
[ "$(ls "$dir/checkpoints")" = "$uid" ] || fail 'checkpoints/ holds uids'
[ "$(ls "$dir/checkpoints/$uid")" = "$version" ] || fail 'below a uid stand resource versions'
cmp -s "$dir/checkpoints/$uid/$version/kubelet" kubelet_configz_node-1 || fail 'below that, the files of the ConfigMap'

step 'Make more changes, with kubectl patch'
GOOD=$CONFIG_MAP_NAME
run 'sed -i "s/\"eventRecordQPS\": 60/\"eventRecordQPS\": 70/" kubelet_configz_${NODE_NAME}'
CONFIG_MAP_NAME=$(kubectl -n kube-system create configmap my-node-config --from-file=kubelet=kubelet_configz_node-1 --append-hash -o name | cut -d/ -f2)
assign() { # NAME [NODE] [KEY]
  CONFIG_MAP_NAME=$1 NODE=${2:-$NODE_NAME} KEY=${3:-kubelet}
  kubectl patch node "$NODE" -p "{\"spec\":{\"configSource\":{\"configMap\":{\"name\":\"${CONFIG_MAP_NAME}\",\"namespace\":\"kube-system\",\"kubeletConfigKey\":\"${KEY}\"}}}}" > /dev/null 2>&1
}
run << 'END'
kubectl patch node ${NODE_NAME} -p "{\"spec\":{\"configSource\":{\"configMap\":{\"name\":\"${CONFIG_MAP_NAME}\",\"namespace\":\"kube-system\",\"kubeletConfigKey\":\"kubelet\"}}}}"
END
node_is 'the new one is active' ".status.config.active.configMap.name == \"$CONFIG_MAP_NAME\""
node_is 'and the one before is still the last known good' ".status.config.lastKnownGood.configMap.name == \"$GOOD\""
node_is 'until its own trial is over' ".status.config.lastKnownGood.configMap.name == \"$CONFIG_MAP_NAME\""
GOOD=$CONFIG_MAP_NAME

step 'Two Nodes on one ConfigMap, and an update in place'
run 'kubectl -n kube-system create configmap shared --from-file=kubelet=kubelet_configz_node-1'
assign shared node-1
assign shared node-2
for node in node-1 node-2; do node_is "$node runs it" '.status.config.active.configMap.name == "shared"' $node; done
before=$(node_json .status.config.active.configMap.resourceVersion)
run 'sed "s/\"eventRecordQPS\": 70/\"eventRecordQPS\": 80/" kubelet_configz_node-1 > edited'
run 'kubectl -n kube-system create configmap shared --from-file=kubelet=edited --dry-run=client -o yaml | kubectl replace -f -'
for node in node-1 node-2; do
  node_is "$node follows the edit" ".status.config.active.configMap.resourceVersion != $before" $node
  eventually "$node runs with it" "curl -sS 'http://localhost:$PROXY_PORT/api/v1/nodes/$node/proxy/configz' | jq -e '.kubeletconfig.eventRecordQPS == 80'"
done

step 'Back to a last known good, so that the errors below have something to fall back to'
assign "$GOOD"
node_is 'active' ".status.config.active.configMap.name == \"$GOOD\" and .status.config.lastKnownGood.configMap.name == \"$GOOD\""
started=$(grep -c 'kubelet started' "$DATA/nodes/node-1/log")

error_is() { # TEXT
  node_is "the error is: $1" ".status.config.error == \"$1\""
  in_log "$1"
  node_is 'the node runs its last known good' ".status.config.active.configMap.name == \"$GOOD\""
}

step 'Error: failed to load config'
config_map unreadable kubelet 'this: is: no: config' > /dev/null
assign unreadable
error_is 'failed to load config, see Kubelet log for details'
assign "$GOOD" "$NODE_NAME" wrong-key
node_is 'a key that is not there is one too' '.status.config.assigned.configMap.kubeletConfigKey == "wrong-key" and .status.config.error == "failed to load config, see Kubelet log for details"'

step 'Error: failed to validate config'
config_map invalid kubelet "$(jq '.eventRecordQPS = -1' kubelet_configz_node-1)" > /dev/null
assign invalid
error_is 'failed to validate config, see Kubelet log for details'
in_log 'eventRecordQPS (--event-qps) -1 must not be a negative number'

step 'Error: failed to download config'
assign not-there
error_is 'failed to sync: failed to download config, see Kubelet log for details'
in_log 'configmaps \"not-there\" not found'

step 'Error: internal failure while syncing, here a broken directory'
mv "$dir/checkpoints" "$dir/checkpoints.away" && touch "$dir/checkpoints"
assign shared
error_is 'failed to sync: internal failure, see Kubelet log for details'
rm "$dir/checkpoints" && mv "$dir/checkpoints.away" "$dir/checkpoints"
node_is 'it is retried automatically' '.status.config.error == null and .status.config.active.configMap.name == "shared"'
assign "$GOOD"
node_is 'active' ".status.config.active.configMap.name == \"$GOOD\""

step 'Error: internal failure outside of syncing, here a converted copy of an old payload that cannot be written'
rm -rf "$dir/documents" && touch "$dir/documents"
config_map old-version kubelet "$(jq '.apiVersion = "kubeletconfig/v1alpha1"' kubelet_configz_node-1)" > /dev/null
assign old-version
error_is 'internal failure, see Kubelet log for details'
rm "$dir/documents"
run 'relet node retry --dynamic-config-dir "$dir"'
node_is 'once it can be written, it runs' '.status.config.error == null and .status.config.active.configMap.name == "old-version"'
assign "$GOOD"
node_is 'active' ".status.config.active.configMap.name == \"$GOOD\" and .status.config.error == null"

step 'Error: a source of a kind that is not known'
refused 'exactly one reference subfield must be non-nil' "kubectl patch node node-2 --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/configSource\",\"value\":{}}]'"
NODE_NAME=node-2
run 'kubectl get node node-2 -o json | jq "del(.metadata.uid, .metadata.resourceVersion) | .spec.configSource = {}" > node-2.json'
run 'kubectl delete node node-2'
run 'kubectl create -f node-2.json'
# An API server that knows no such source lets nothing of this Node be changed, not even its status; the host says it.
host_says() { relet node status --dynamic-config-dir "$DATA/nodes/node-2/dynamic-config" -o json | jq -e ".error == \"$1\""; }
eventually 'the host says it' "host_says 'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil'"
in_log 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil'
run "kubectl patch node node-2 -p '{\"spec\":{\"configSource\":null}}'"
node_is 'and the Node again when it can' '.status.config == {}'
NODE_NAME=node-1

step 'A config that passes every check and kills the kubelet: a port that is taken, by the metrics of relet itself'
config_map killer kubelet "$(jq '.port = 10269' kubelet_configz_node-1)" > /dev/null
assign killer
node_is 'rolled back' '.status.config.error == "rolled back: the kubelet kept crashing with this config, see Kubelet log for details"'
in_log 'bind: address already in use'
node_is 'to the last known good, and Ready' ".status.config.active.configMap.name == \"$GOOD\" and (.status.conditions|any(.type==\"Ready\" and .status==\"True\"))"

step 'Restart with the API server stopped: the node starts from its disk'
assign "$GOOD"
node_is 'active, no error' ".status.config.active.configMap.name == \"$GOOD\" and .status.config.error == null"
run 'kill -STOP $(cat "$DATA/apiserver.pid")'
old=$(cat "$DATA/nodes/node-1/pid")
run 'kill -9 $(cat "$DATA/nodes/node-1/pid")'
runs_again() {
  local pid
  pid=$(cat "$DATA/nodes/node-1/pid") && [ "$pid" != "$old" ] &&
    relet node status --dynamic-config-dir "$dir" -o json | jq -e ".relet.pid == $pid and .kubelet.pid != null"
}
eventually 'relet and its kubelet run again' runs_again
address=$(grep -o 'healthz-bind-address=[0-9.]*' "$DATA/nodes/node-1/log" | tail -1 | cut -d= -f2)
eventually 'the kubelet is healthy' "curl -sf http://$address:10248/healthz"
run 'relet node status --dynamic-config-dir "$dir"'
relet node status --dynamic-config-dir "$dir" -o json | jq -e '.active | contains("my-node-config")' > /dev/null || fail 'it runs the checkpoint'
run 'kill -CONT $(cat "$DATA/apiserver.pid")'
node_is 'and says so when the API server is back' ".status.config.active.configMap.name == \"$GOOD\" and .status.config.error == null"

step 'Reset the Node to its local configuration'
editor_removes_config_source
run 'kubectl edit node ${NODE_NAME}'
node_is 'status.config is empty' '.status.config == {}'
eventually 'the local config runs' 'curl -sS "http://localhost:$PROXY_PORT/api/v1/nodes/node-1/proxy/configz" | jq -e ".kubeletconfig.eventRecordQPS == 50"'
[ ! -s "$dir/meta/assigned" ] && [ ! -s "$dir/meta/last-known-good" ] || fail 'both records are empty'

printf '\nAll of it was as the page says (kubectl %s).\n' "$(kubectl version --client -o json 2> /dev/null | jq -r .clientVersion.gitVersion)"
