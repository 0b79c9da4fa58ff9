/** Commands that ran between the recorded ones: records keep every other command, the state they left is needed all the same. */

const nodeStatus = 'kubectl replace --raw /api/v1/nodes/kc-n1/status -f -';

/** By the recorded command they come before. */
export const stepsBefore: Record<string, string[]> = {
  '009-cm-from-file-hash': ['kubectl -n kc-test create configmap lit --from-literal=a=1 --from-literal=b=two'],
  '015-cm-dry-server-yaml': ['kubectl -n kc-test create configmap fromenv --from-env-file=env.txt'],
  '021-role-unknown-resource': [
    'kubectl -n kc-test create role reader --verb=get,list --resource=configmaps --resource-name=lit',
  ],
  '025-get-cm': ['kubectl -n kc-test create rolebinding reader --role=reader --user=jane'],
  '063-edit-no-change': ['kubectl -n kc-test create configmap plain --from-literal=x=y'],
  '067-patch-no-change': [`kubectl -n kc-test patch cm lit -p '{"data":{"a":"9","j":null}}'`],
  '071-label-clash': ['kubectl -n kc-test label cm lit tier=web'],
  '077-annotate-remove': ['kubectl -n kc-test annotate cm lit note=hello'],
  '079-node-status': ['kubectl create -f node1.yaml', 'kubectl create -f node2.yaml'],
  '081-node-wide': [
    `kubectl get node kc-n1 -o json | node -e 'const fs=require("fs");const n=JSON.parse(fs.readFileSync(0));console.log(JSON.stringify({...n,status:{...n.status,...JSON.parse(fs.readFileSync("status.json")).status}}))' | ${nodeStatus}`,
  ],
  '083-node-taint-again': ['kubectl taint nodes kc-n1 key=value:NoSchedule'],
  '085-node-cordon': ['kubectl taint nodes kc-n1 key=value:NoSchedule-'],
  '089-node-label': ['kubectl uncordon kc-n1'],
  '097-event-create': [`sed -i "s/UID/$(kubectl -n kc-test get cm ssa -o jsonpath='{.metadata.uid}')/" event.yaml`],
  '105-cr-get': [
    'kubectl wait --for=condition=Established crd/sprockets.kc.example.com --timeout=5s',
    'kubectl create -f cr.yaml',
  ],
  '111-cr-describe': [`kubectl -n kc-test patch sprocket s1 --type=merge -p '{"spec":{"teeth":13}}'`],
  '131-delete-missing': ['kubectl -n kc-test delete cm bin'],
  '133-delete-file': ['kubectl -n kc-test delete cm lit'],
  '139-delete-namespace': ['kubectl create namespace kc-two'],
};

/** Creates the objects that existed when the recording began. */
export const stepsFirst = [
  'kubectl create namespace kc-test',
  'kubectl -n kc-test create serviceaccount default || true',
];
