/** What `relet demo` shows: each scene a sentence or two, a command as a person types it, and what it must print. */

export interface Scene {
  tell: string;
  command: string;
  /** The exit code it must end with. Default 0. */
  status?: number;
  /** What it must print, with any white space as one space. */
  shows: RegExp;
  /** Shown only where this program is installed. */
  needs?: string;
}

export const story: readonly Scene[] = [
  {
    tell: 'A whole cluster on this machine: an API server, a controller and two nodes, each a process of its own. A config is usually on trial for ten minutes; here it is five seconds.',
    command: "relet up --detach --nodes 2 --trial-duration 5s | grep -E 'API|Ready'",
    shows: /node-2 +Ready after/,
  },
  {
    tell: 'Nothing is assigned to the nodes: both run with their local config.',
    command: 'relet get',
    shows: /node-1 +local +local +local/,
  },
  {
    tell: "This is the config that a node's kubelet runs with.",
    command: "relet view node-1 | grep -E '^(maxPods|eventRecordQPS|port):'",
    shows: /maxPods: 110/,
  },
  {
    tell: 'Change it. relet shows what the change needs on a live node, stores the config, assigns it, and waits until the kubelet runs with it.',
    command: 'relet set node-1 maxPods=150 --yes',
    shows: /node-1: active/,
  },
  {
    tell: 'It is on trial. Once it has been healthy long enough, it becomes the last known good config.',
    command: 'relet wait node-1 --for=lastKnownGood && relet get node-1',
    // A narrow terminal shortens the names from the left.
    shows: /node-1 +active +\S*(\w{4}) +\S*\1/,
  },
  {
    tell: 'A config that the kubelet would reject is not even stored.',
    command: 'relet set node-1 eventRecordQPS=-1 --yes',
    status: 2,
    shows: /must not be a negative number/,
  },
  {
    tell: 'Suppose someone bypasses relet and assigns that config with kubectl …',
    command: `kubectl create configmap broken -n relet-system --from-literal=kubelet='{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1","eventRecordQPS":-1}'
kubectl label configmap broken -n relet-system relet.dev/kubelet-config=true
kubectl patch nodeconfig node-1 --type=merge -p '{"spec":{"configSource":{"configMap":{"namespace":"relet-system","name":"broken","kubeletConfigKey":"kubelet"}}}}'`,
    shows: /nodeconfig.relet.dev\/node-1 patched/,
    needs: 'kubectl',
  },
  {
    tell: '… then the node itself rejects it, reports why, and keeps running. Its kubelet was not even restarted.',
    command: 'relet wait node-1',
    status: 1,
    shows: /rejects a value of the assigned config/,
    needs: 'kubectl',
  },
  {
    tell: 'Now a config that passes every check and still crashes the kubelet: on every node relet itself serves metrics on port 10269, so that port is taken.',
    command: 'relet set node-1 port=10269 --yes',
    status: 1,
    shows: /node-1: rolled back/,
  },
  {
    tell: 'The kubelet crashed three times. The node rolled back to its last known good config, and will not try the bad one again.',
    command: "relet get node-1 && relet describe node-1 | grep -E '^(Ready|Active|Cause)'",
    shows: /node-1 +rolled back[\s\S]*Ready: +True[\s\S]*3 times/,
  },
  {
    tell: 'Return to the local config.',
    command: 'relet reset node-1 --yes && relet wait node-1 --for=lastKnownGood && relet get node-1',
    shows: /node-1 +local +local +local +local/,
  },
  { tell: 'Stop everything.', command: 'relet down', shows: /stopped the cluster in/ },
];
