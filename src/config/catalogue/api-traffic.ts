/** Catalogue entries for fields of the kubelet's API client and of the Node object: rates, heartbeats, registration, identity. */
import { isLowered, isRaised, isRemoved } from './directions.js';
import type { Entries } from './entry.js';

const client = 'The API client is built at start.';
const firstOnly = 'Read only when the Node object is created. relet changes nodes that are registered already.';

export const apiTraffic: Entries = {
  contentType: {
    what: 'Encoding of the kubelet requests to the API server.',
    needs: 'restart',
    why: client,
    risk: 'A type the API server does not speak cuts the node off. relet sees the missing heartbeat and rolls back; upstream could not.',
    pods: 'unknown',
  },
  kubeAPIQPS: {
    what: 'Requests a second the kubelet allows itself towards the API server.',
    needs: 'restart',
    why: client,
    risk: 'Too low starves status updates of busy nodes; too high, on many nodes, loads the API server.',
    cases: [
      { when: 'raised', applies: isRaised, risk: 'Many nodes with high rates load the API server.' },
      {
        when: 'lowered',
        applies: isLowered,
        risk: 'Too low, status updates of a busy node are late; pods look not ready, and the node may become NotReady.',
        pods: 'unknown',
      },
    ],
  },
  kubeAPIBurst: {
    what: 'Requests the kubelet may send at once before kubeAPIQPS applies.',
    needs: 'restart',
    why: client,
    risk: 'Large bursts of many nodes at once hit the API server; too small ones delay the first sync after a restart.',
  },
  eventRecordQPS: {
    what: 'Events a second the kubelet may create. 0 is for no limit since 1.37; before, the kubelet takes it as 5.',
    needs: 'restart',
    why: 'Events have a client of their own, built at start.',
    risk: 'Low values lose events people look for; 0 lets one crashing pod flood the API server, since 1.37.',
  },
  eventBurst: {
    what: 'Events that may be created at once before eventRecordQPS applies.',
    needs: 'restart',
    why: 'Events have a client of their own, built at start.',
    risk: 'Low values lose the events of the first seconds after a restart.',
  },
  nodeStatusUpdateFrequency: {
    what: 'How often the kubelet computes its node status (and posts it, without leases).',
    needs: 'restart',
    why: 'The status loop takes its period at start.',
    risk: 'Must stay several times below node-monitor-grace-period of the controller manager, or nodes become NotReady.',
    cases: [
      { when: 'lowered', applies: isLowered, risk: 'Short values on many nodes load the API server.' },
      { when: 'raised', applies: isRaised, pods: 'unknown' },
    ],
  },
  nodeStatusReportFrequency: {
    what: 'How often an unchanged node status is posted.',
    needs: 'restart',
    why: 'The status loop takes its period at start.',
    risk: 'Short values on many nodes load the API server; health is decided by the Lease either way.',
  },
  nodeLeaseDurationSeconds: {
    what: 'How long the node Lease is valid; it is renewed every quarter of that.',
    needs: 'restart',
    why: 'The lease controller takes it at start.',
    risk: 'Renewed more slowly than node-monitor-grace-period of the controller manager allows (a quarter of this), nodes become NotReady. Short values cost requests.',
    cases: [
      {
        when: 'lowered',
        applies: isLowered,
        risk: 'The Lease is renewed more often; on many nodes that loads the API server.',
      },
      { when: 'raised', applies: isRaised, pods: 'unknown' },
    ],
  },
  nodeStatusMaxImages: {
    what: 'How many images the node status lists; -1 for all.',
    needs: 'restart',
    why: 'The status builder takes it at start.',
    risk: 'Many images make big Node objects; too few weaken the image locality of the scheduler.',
  },
  registerNode: {
    what: 'Whether the kubelet creates its Node object.',
    needs: 'restart',
    why: 'Decides at start whether to register; an existing Node keeps being updated.',
    risk: 'Off, a Node that is deleted does not come back. Before 1.23 this is a flag only.',
  },
  registerWithTaints: {
    what: 'Taints put on the Node when the kubelet first registers it.',
    needs: 'none',
    why: firstOnly,
    risk: 'None now; a surprise when the Node is deleted and registers again. Use kubectl taint for a live node.',
  },
  'registerWithTaints[].key': {
    what: 'Key of a taint, as in kubectl taint.',
    needs: 'none',
    why: firstOnly,
    risk: 'An invalid key makes the API server refuse the Node when it registers again.',
  },
  'registerWithTaints[].value': {
    what: 'Value of a taint; may be empty.',
    needs: 'none',
    why: firstOnly,
    risk: 'An invalid value makes the API server refuse the Node when it registers again.',
  },
  'registerWithTaints[].effect': {
    what: 'NoSchedule, PreferNoSchedule or NoExecute.',
    needs: 'none',
    why: firstOnly,
    risk: 'A taint that nothing tolerates keeps a re-registered node empty.',
  },
  'registerWithTaints[].timeAdded': {
    what: 'When the taint was added; meant for NoExecute.',
    needs: 'none',
    why: firstOnly,
    risk: 'None known; leave it out.',
  },
  providerID: {
    what: 'Identity of the machine at the cloud provider.',
    needs: 'never',
    why: 'It belongs to one machine and is written to the Node once. A shared config would give the same identity to many.',
    risk: 'The cloud controller may delete the Node of a live machine or wire volumes and load balancers to the wrong one.',
    cases: [
      {
        when: 'it is what the Node has',
        applies: ({ after }, { facts }) => typeof after === 'string' && after !== '' && facts.providerID === after,
        needs: 'restart',
        why: 'The Node has this identity already, and keeps it.',
        risk: 'In a config that other nodes share, it would be theirs too.',
        pods: 'unaffected',
      },
      {
        when: 'removed',
        applies: isRemoved,
        needs: 'restart',
        why: 'It is written when the Node is created, and the Node keeps what it has.',
        risk: 'A Node that is deleted and registers again has no identity, unless a cloud controller gives it one.',
        pods: 'unaffected',
      },
    ],
  },
  configMapAndSecretChangeDetectionStrategy: {
    what: 'How the kubelet learns of changed ConfigMaps and Secrets of pods: Watch, Cache or Get.',
    needs: 'restart',
    why: 'The managers are built at start.',
    risk: 'Get and Cache cost requests to the API server on dense nodes; Cache also delays changes.',
  },
};
