/**
 * The guards as admission policies, for API servers of 1.30 and later. deploy/guards has the same as YAML, and a test keeps
 * the two equal. The controller compares the policies in the cluster with these, so that it reports a weakened policy as
 * well as a missing one.
 */
import { byAnnotation } from '../api/node-annotations.js';
import { historyAnnotation } from '../fleet/config-history.js';

interface NamedRule {
  apiGroups: string[];
  apiVersions: string[];
  operations: string[];
  resources: string[];
  scope: '*';
}

export interface GuardPolicy {
  name: string;
  rules: NamedRule[];
  matchConditions: { name: string; expression: string }[];
  validations: { expression: string; message: string; reason: 'Forbidden' }[];
}

const nodeConfigRule = (resource: string, operations: string[]): NamedRule => ({
  apiGroups: ['relet.dev'],
  apiVersions: ['*'],
  operations,
  resources: [resource],
  scope: '*',
});

const isNode = "'system:nodes' in request.userInfo.groups";
const mayAssign = "authorizer.group('relet.dev').resource('nodeconfigs').name(request.name).check('assign').allowed()";
const mayAuthor =
  "authorizer.group('relet.dev').resource('kubeletconfigs').namespace(request.namespace).check('author').allowed()";
const mayReconcile =
  "authorizer.group('relet.dev').resource('nodeconfigsets').name(request.name).check('reconcile').allowed()";
const mayAssignAll = "authorizer.group('relet.dev').resource('nodeconfigs').check('assign').allowed()";
const mayAuthorForSets =
  "authorizer.group('relet.dev').resource('kubeletconfigs').namespace('relet-system').check('author').allowed()";
/** Every field of one status but rollout is in the other, with the same value. */
const keptIn = (a: string, b: string) =>
  `(!has(${a}.status) || ${a}.status.all(field, field == 'rollout' || (has(${b}.status) && field in ${b}.status && ${a}.status[field] == ${b}.status[field])))`;
const annotated = (object: string, key: string) =>
  `has(${object}.metadata.annotations) && '${key}' in ${object}.metadata.annotations`;
const annotation = (object: string, key: string) => `${object}.metadata.annotations['${key}']`;
const [by, history] = [byAnnotation, historyAnnotation];
const isByUser = `${annotation('object', by)} == request.userInfo.username`;
/** Also false where the object is created. */
const isSame = (key: string) =>
  `(oldObject != null && ${annotated('oldObject', key)} && ${annotation('oldObject', key)} == ${annotation('object', key)})`;
const isPaused = (object: string) => `(has(${object}.spec.paused) && ${object}.spec.paused)`;
const controller = "'system:serviceaccount:relet-system:relet-controller'";
/** A field of status.rollout: removed, unchanged, or signed with the name of the user who writes it. */
function signed(field: 'approve' | 'request'): string {
  const [now, before] = [`object.status.rollout.${field}`, `oldObject.status.rollout.${field}`];
  const isKept = `has(oldObject.status) && has(oldObject.status.rollout) && has(${before}) && ${before} == ${now}`;
  const isOwn = `has(${now}.by) && ${now}.by == request.userInfo.username && request.userInfo.username != ${controller}`;
  return `!has(${now}) || (${isKept}) || (${isOwn})`;
}
const hasLabel = (object: string) =>
  `${object} != null && has(${object}.metadata.labels) && 'relet.dev/kubelet-config' in ${object}.metadata.labels`;
const cleaners = ['namespace-controller', 'generic-garbage-collector']
  .map((name) => `'system:serviceaccount:kube-system:${name}'`)
  .join(', ');

export const guardPolicies: readonly GuardPolicy[] = [
  {
    name: 'relet-node-writes-own-status',
    rules: [nodeConfigRule('nodeconfigs/status', ['UPDATE'])],
    matchConditions: [{ name: 'a-node', expression: isNode }],
    validations: [
      {
        expression: "request.userInfo.username == 'system:node:' + object.metadata.name",
        message: 'a node may write only the status of its own NodeConfig',
        reason: 'Forbidden',
      },
    ],
  },
  {
    name: 'relet-who-assigns',
    rules: [nodeConfigRule('nodeconfigs', ['CREATE', 'UPDATE', 'DELETE'])],
    matchConditions: [
      {
        name: 'not-cleaned-up',
        expression: `!(request.operation == 'DELETE' && request.userInfo.username in [${cleaners}])`,
      },
    ],
    validations: [
      { expression: `!(${isNode})`, message: 'a node may not write NodeConfigs', reason: 'Forbidden' },
      {
        expression: mayAssign,
        message: "only who may 'assign' nodeconfigs.relet.dev (the role relet:operator) may write NodeConfigs",
        reason: 'Forbidden',
      },
    ],
  },
  {
    name: 'relet-who-authors',
    rules: [
      {
        apiGroups: [''],
        apiVersions: ['v1'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['configmaps'],
        scope: '*',
      },
    ],
    matchConditions: [
      { name: 'a-kubelet-config', expression: `(${hasLabel('object')}) || (${hasLabel('oldObject')})` },
      {
        name: 'not-cleaned-up',
        expression: `!(request.operation == 'DELETE' && request.userInfo.username in [${cleaners}])`,
      },
    ],
    validations: [
      { expression: `!(${isNode})`, message: 'a node may not write kubelet configs', reason: 'Forbidden' },
      {
        expression: mayAuthor,
        message:
          "only who may 'author' kubeletconfigs.relet.dev (the role relet:author) may write ConfigMaps labelled relet.dev/kubelet-config",
        reason: 'Forbidden',
      },
    ],
  },
  {
    name: 'relet-who-writes-sets',
    rules: [nodeConfigRule('nodeconfigsets', ['CREATE', 'UPDATE', 'DELETE'])],
    matchConditions: [
      {
        name: 'not-cleaned-up',
        expression: `!(request.operation == 'DELETE' && request.userInfo.username in [${cleaners}])`,
      },
      { name: 'not-the-controller', expression: `!(${mayReconcile})` },
    ],
    validations: [
      { expression: `!(${isNode})`, message: 'a node may not write NodeConfigSets', reason: 'Forbidden' },
      {
        expression: `${mayAssignAll} && ${mayAuthorForSets}`,
        message:
          "only who may 'assign' all nodeconfigs.relet.dev and 'author' kubeletconfigs.relet.dev in relet-system (the role relet:set-author) may write NodeConfigSets",
        reason: 'Forbidden',
      },
    ],
  },
  {
    name: 'relet-who-approves',
    rules: [nodeConfigRule('nodeconfigsets/status', ['UPDATE'])],
    matchConditions: [{ name: 'not-the-controller', expression: `!(${mayReconcile})` }],
    validations: [
      { expression: `!(${isNode})`, message: 'a node may not write the status of NodeConfigSets', reason: 'Forbidden' },
      {
        expression: `${keptIn('object', 'oldObject')} && ${keptIn('oldObject', 'object')}`,
        message:
          "only who may 'reconcile' nodeconfigsets.relet.dev, which is the controller, may write more of their status than rollout",
        reason: 'Forbidden',
      },
    ],
  },
  {
    // Applies to all users: cluster-admin is named too, and the controller may only remove requests of people.
    name: 'relet-who-steers',
    rules: [nodeConfigRule('nodeconfigsets/status', ['UPDATE'])],
    matchConditions: [{ name: 'steered', expression: 'has(object.status) && has(object.status.rollout)' }],
    validations: (['approve', 'request'] as const).map((field) => ({
      expression: signed(field),
      message: `status.rollout.${field}.by must be the name of the user who writes it, as 'kubectl auth whoami' shows it; 'relet rollout' writes it, and the controller only removes it`,
      reason: 'Forbidden',
    })),
  },
  {
    name: 'relet-who-is-named',
    rules: [
      nodeConfigRule('nodeconfigs', ['CREATE', 'UPDATE']),
      nodeConfigRule('nodeconfigsets', ['CREATE', 'UPDATE']),
    ],
    matchConditions: [{ name: 'names-somebody', expression: annotated('object', by) }],
    validations: [
      {
        expression: `${isByUser} || ${isSame(by)}`,
        message: `the annotation ${by} must be the name of the user who writes it, as 'kubectl auth whoami' shows it; remove it, or leave it as it is`,
        reason: 'Forbidden',
      },
      {
        expression: `${isByUser} || !(${annotated('object', history)}) || ${isSame(history)}`,
        message: `the annotation ${history} is changed while ${by} names somebody else; write your own name there, or remove it (an older relet does neither)`,
        reason: 'Forbidden',
      },
      {
        expression: `${isByUser} || request.resource.resource != 'nodeconfigsets' || oldObject == null || ${isPaused('object')} == ${isPaused('oldObject')}`,
        message: `spec.paused is changed while the annotation ${by} names somebody else; write your own name there, or remove it`,
        reason: 'Forbidden',
      },
    ],
  },
];

/** The objects to apply. The server's defaults are written out, so that applying them again, by any tool, changes nothing. */
export function policyObject({ name, rules, matchConditions, validations }: GuardPolicy) {
  const matchConstraints = {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    resourceRules: rules,
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name, labels: { 'app.kubernetes.io/name': 'relet' } },
    spec: { failurePolicy: 'Fail', matchConstraints, matchConditions, validations },
  };
}

export function policyBindingObject({ name }: GuardPolicy) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels: { 'app.kubernetes.io/name': 'relet' } },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
}
