#!/usr/bin/env bash
# The task page of Kubernetes 1.8, when this was an alpha, typed into a shell: every command of the page, every message and
# reason of its table, and a check behind each. Brings its own system up in a temporary directory.
#
#   examples/walkthrough-alpha.sh       needs relet, kubectl (any from 1.20 on), curl and jq
set -euo pipefail
. "$(dirname "$0")/checks.sh"

NODE_NAME=node-1
dir=$DATA/nodes/node-1/dynamic-config

# Waits until the condition says all three, and finds both texts in the log when it is False, as the page promises.
condition() { # STATUS MESSAGE REASON
  local wanted
  wanted=$(jq -cn --arg status "$1" --arg message "$2" --arg reason "$3" '{$status, $message, $reason}')
  node_is "ConfigOK $1: $2: $3" ".status.conditions|any(.type==\"ConfigOK\" and {status, message, reason} == $wanted)"
  if [ "$1" = False ]; then in_log "$2"; in_log "$3"; fi
}

# Points the node at a ConfigMap in the form of DKC alpha, without waiting.
assign() { # NAME UID
  kubectl patch node node-1 --type=json -p "[{\"op\":\"add\",\"path\":\"/spec/configSource\",\"value\":{\"configMapRef\":{\"name\":\"$1\",\"namespace\":\"kube-system\",\"uid\":\"$2\"}}}]" > /dev/null 2>&1
}
reset() { kubectl patch node node-1 -p '{"spec":{"configSource":null}}' > /dev/null 2>&1; }

# The node may read ConfigMaps of this name.
authorize() { # NAME
  kubectl -n kube-system create role "$1-reader" --verb=get --resource=configmap --resource-name="$1" > /dev/null
  kubectl -n kube-system create rolebinding "$1-reader" --role="$1-reader" --user=system:node:node-1 > /dev/null
}

step 'A cluster whose API server does not let nodes read their ConfigMaps by itself, as in 1.8'
run 'relet up --detach --dynamic-kubelet-config --nodes 1 --port 0 --trial-duration 2s --node-config-access manual --data-dir "$DATA" -- --restart-interval=0s > /dev/null'

step 'Generate a file with the current configuration'
run 'kubectl proxy --port=8001 &'
eventually 'the proxy listens' 'curl -s "http://localhost:$PROXY_PORT/version"'
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'
run 'export NODE_NAME=node-1'
run << 'END'
curl -sSL http://localhost:8001/api/v1/proxy/nodes/${NODE_NAME}/configz | jq '.kubeletconfig|.kind="KubeletConfiguration"|.apiVersion="kubeletconfig/v1alpha1"' > kubelet_configz_${NODE_NAME}
END
[ "$(jq -c '[.apiVersion, .eventRecordQPS]' kubelet_configz_node-1)" = '["kubeletconfig/v1alpha1",50]' ] || fail 'configz'

step 'Edit it, and push it to the control plane'
run 'sed -i "s/\"eventRecordQPS\": 50/\"eventRecordQPS\": 60/" kubelet_configz_${NODE_NAME}'
run 'kubectl -n kube-system create configmap my-node-config --from-file=kubelet=kubelet_configz_${NODE_NAME} --append-hash -o yaml > created.yaml'
run 'grep -A9 "^kind: ConfigMap" created.yaml'
CONFIG_MAP_UID=$(sed -n 's/^  uid: //p' created.yaml)
name=$(sed -n 's/^  name: //p' created.yaml)
run "export CONFIG_MAP_NAME=$name"

step 'Without permission the node keeps its config and reports the reason'
assign "$CONFIG_MAP_NAME" "$CONFIG_MAP_UID"
condition False 'using current (default)' "failed to sync, reason: failed to download ConfigMap with name \"$CONFIG_MAP_NAME\" from namespace \"kube-system\""
in_log 'is forbidden: User \"system:node:node-1\" cannot get resource'
reset
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'

step 'Authorize the Node to read the new ConfigMap'
run 'kubectl -n kube-system create role ${CONFIG_MAP_NAME}-reader --verb=get --resource=configmap --resource-name=${CONFIG_MAP_NAME}'
run 'kubectl -n kube-system create rolebinding ${CONFIG_MAP_NAME}-reader --role=${CONFIG_MAP_NAME}-reader --user=system:node:${NODE_NAME}'

step 'Set the Node to use the new configuration, with an editor'
editor_adds_under_spec "configSource:
    configMapRef:
        name: $CONFIG_MAP_NAME
        namespace: kube-system
        uid: $CONFIG_MAP_UID"
run 'kubectl edit node ${NODE_NAME}'

step 'Observe that the Node begins using it'
condition True "using current (UID: \"$CONFIG_MAP_UID\")" 'passing all checks'
run << 'END'
kubectl get no ${NODE_NAME} -o json | jq '.status.conditions|map(select(.type=="ConfigOK"))'
END
eventually 'the kubelet runs with it' 'curl -sS "http://localhost:$PROXY_PORT/api/v1/proxy/nodes/node-1/configz" | jq -e ".kubeletconfig.eventRecordQPS == 60"'

step 'Edit the file again, push, authorize, assign: the same with new names'
run 'sed -i "s/\"eventRecordQPS\": 60/\"eventRecordQPS\": 70/" kubelet_configz_${NODE_NAME}'
run 'kubectl create configmap my-node-config --namespace=kube-system --from-file=kubelet=kubelet_configz_${NODE_NAME} --append-hash -o yaml > created.yaml'
NEW_CONFIG_MAP_UID=$(sed -n 's/^  uid: //p' created.yaml)
name=$(sed -n 's/^  name: //p' created.yaml)
run "export NEW_CONFIG_MAP_NAME=$name"
[ "$NEW_CONFIG_MAP_NAME" != "$CONFIG_MAP_NAME" ] || fail 'other contents have another name'
run 'kubectl -n kube-system create role ${NEW_CONFIG_MAP_NAME}-reader --verb=get --resource=configmap --resource-name=${NEW_CONFIG_MAP_NAME}'
run 'kubectl -n kube-system create rolebinding ${NEW_CONFIG_MAP_NAME}-reader --role=${NEW_CONFIG_MAP_NAME}-reader --user=system:node:${NODE_NAME}'
OLD_NAME=$CONFIG_MAP_NAME OLD_UID=$CONFIG_MAP_UID CONFIG_MAP_NAME=$NEW_CONFIG_MAP_NAME CONFIG_MAP_UID=$NEW_CONFIG_MAP_UID
run << 'END'
kubectl patch node ${NODE_NAME} -p "{\"spec\":{\"configSource\":{\"configMapRef\":{\"name\":\"${CONFIG_MAP_NAME}\",\"namespace\":\"kube-system\",\"uid\":\"${CONFIG_MAP_UID}\"}}}}"
END
condition True "using current (UID: \"$NEW_CONFIG_MAP_UID\")" 'passing all checks'
CONFIG_MAP_NAME=$OLD_NAME

step 'Deauthorize the Node from reading the old ConfigMap, and remove that'
run 'kubectl -n kube-system delete rolebinding ${CONFIG_MAP_NAME}-reader'
run 'kubectl -n kube-system delete role ${CONFIG_MAP_NAME}-reader'
run 'kubectl -n kube-system delete configmap ${CONFIG_MAP_NAME}'
assign "$OLD_NAME" "$OLD_UID"
condition False "using current (UID: \"$NEW_CONFIG_MAP_UID\")" "failed to sync, reason: failed to download ConfigMap with name \"$OLD_NAME\" from namespace \"kube-system\""
assign "$NEW_CONFIG_MAP_NAME" "$NEW_CONFIG_MAP_UID"
condition True "using current (UID: \"$NEW_CONFIG_MAP_UID\")" 'passing all checks'
node_is 'it becomes the last known good' ".status.config.lastKnownGood.configMap.uid == \"$NEW_CONFIG_MAP_UID\""

step 'The table: what is wrong with a config, on top of a last known good ConfigMap'
declare -A bad
bad[load]=$(config_map no-such-key other-key 'the key must be: kubelet')
bad[parse]=$(config_map unreadable kubelet 'this: is: no: config')
bad[validate]=$(config_map invalid kubelet "$(jq '.eventRecordQPS = -1' kubelet_configz_node-1)")
declare -A named=([load]=no-such-key [parse]=unreadable [validate]=invalid)
for name in "${named[@]}"; do authorize "$name"; done
each_fault() { # MESSAGE
  for fault in load parse validate; do
    assign "${named[$fault]}" "${bad[$fault]}"
    condition False "$1" "failed to $fault current (UID: \"${bad[$fault]}\")"
  done
}
each_fault "using last-known-good (UID: \"$NEW_CONFIG_MAP_UID\")"

step 'Reset the Node to its local default configuration'
editor_removes_config_source
run 'kubectl edit node ${NODE_NAME}'
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'
run 'kubectl -n kube-system delete rolebinding ${NEW_CONFIG_MAP_NAME}-reader'
run 'kubectl -n kube-system delete role ${NEW_CONFIG_MAP_NAME}-reader'
run 'kubectl -n kube-system delete configmap ${NEW_CONFIG_MAP_NAME}'

step 'The same faults on top of the local default'
each_fault 'using last-known-good (default)'
reset
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'

step 'The table: what is wrong with following the reference; the node keeps running what it runs'
sync_fault() { condition False "${running:-using current (default)}" "failed to sync, reason: $1"; }
good=$(config_map good kubelet "$(cat kubelet_configz_node-1)")
authorize good
kubectl patch node node-1 --type=json -p '[{"op":"add","path":"/spec/configSource","value":{"configMapRef":{"name":"good","namespace":"kube-system"}}}]' > /dev/null 2>&1
sync_fault 'invalid ObjectReference, all of UID, Name, and Namespace must be specified'
assign good 00000000-0000-0000-0000-000000000000
sync_fault "invalid ObjectReference, UID \"00000000-0000-0000-0000-000000000000\" does not match UID of downloaded ConfigMap \"$good\""
assign gone "$good"
sync_fault 'failed to download ConfigMap with name "gone" from namespace "kube-system"'
reset
mv "$dir/checkpoints" "$dir/checkpoints.away" && touch "$dir/checkpoints"
assign good "$good"
sync_fault "failed to determine whether object with UID \"$good\" was already checkpointed"
reset
rm "$dir/checkpoints" && mv "$dir/checkpoints.away" "$dir/checkpoints"
ln -s /nowhere "$dir/checkpoints/$good"
assign good "$good"
sync_fault "failed to save config checkpoint for object with UID \"$good\""
reset
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'
rm -f "$dir/checkpoints/$good"
# The record cannot be written: there is a directory in its place. After the repair SIGHUP makes the node retry at once.
block() { rm "$dir/meta/assigned"; mkdir -p "$dir/meta/assigned/in-the-way"; }
unblock() { rm -r "$dir/meta/assigned"; kill -HUP "$(cat "$DATA/nodes/node-1/pid")"; }
block
assign good "$good"
sync_fault "failed to set current config checkpoint to object with UID \"$good\""
unblock
running="using current (UID: \"$good\")"
condition True "$running" 'passing all checks'
node_is 'last known good' ".status.config.lastKnownGood.configMap.uid == \"$good\""
block
reset
sync_fault 'failed to reset to local (default or init) config'
unblock
running='using current (default)'
condition True "$running" 'current is set to the local default, and no init config was provided'
assign unreadable "${bad[parse]}"
condition False 'using last-known-good (default)' "failed to parse current (UID: \"${bad[parse]}\")"
block
reset
running='using last-known-good (default)' sync_fault 'failed to set current config checkpoint to default'
unblock
condition True "$running" 'current is set to the local default, and no init config was provided'

step 'Two reasons that keep the status from being written: the host says them, and its log'
host_condition() { relet node status --dynamic-config-dir "$dir" -o json | jq -e ".error == \"$1\""; }
kubectl get node node-1 -o json | jq 'del(.metadata.uid, .metadata.resourceVersion) | .spec.configSource = {}' > node-1.json
run 'kubectl delete node node-1'
run 'kubectl create -f node-1.json'
in_log 'failed to sync, reason: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil'
reset
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'
token=$(echo '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}' | kubectl create --raw /api/v1/namespaces/default/serviceaccounts/default/token -f - | jq -r .status.token)
cp "$DATA/nodes/node-1/kubeconfig" kubeconfig.away
sed -e '/client-certificate-data/d' -e "s/client-key-data: .*/token: $token/" kubeconfig.away > kubeconfig.other
mv kubeconfig.other "$DATA/nodes/node-1/kubeconfig"
assign good "$good"
in_log 'failed to sync, reason: failed to read Node from informer object cache'
eventually 'the host says it' "host_condition 'failed to sync: internal failure, see Kubelet log for details'"
mv kubeconfig.away "$DATA/nodes/node-1/kubeconfig"
kill -HUP "$(cat "$DATA/nodes/node-1/pid")"
condition True "using current (UID: \"$good\")" 'passing all checks'
reset
condition True 'using current (default)' 'current is set to the local default, and no init config was provided'

step 'Provisioned with an init config: another local, another word'
run 'relet down --data-dir "$DATA"'
mkdir "$WORK/init"
jq '.eventRecordQPS = 55' kubelet_configz_node-1 > "$WORK/init/kubelet"
run 'relet up --detach --init-config-dir "$WORK/init" --data-dir "$DATA" > /dev/null'
init='current is set to the local default, and an init config was provided'
condition True 'using current (init)' "$init"
eventually 'the kubelet runs with it' 'kubectl get --raw /api/v1/nodes/node-1/proxy/configz | jq -e ".kubeletconfig.eventRecordQPS == 55"'
each_fault 'using last-known-good (init)'
assign good "$good"
condition True "using current (UID: \"$good\")" 'passing all checks'
run 'kubectl edit node ${NODE_NAME}'
condition True 'using current (init)' "$init"

printf '\nAll of it was as the page says (kubectl %s).\n' "$(kubectl version --client -o json 2> /dev/null | jq -r .clientVersion.gitVersion)"
