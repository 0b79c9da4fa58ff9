/** What `kubectl explain` says, in our own words. Short where a field's name says it; longer for what relet is about. */

interface Described {
  /** The shape itself. */
  is?: string;
  fields?: Record<string, string>;
}

export function describeStruct(struct: string): string | undefined {
  return descriptions[struct]?.is;
}

export function describeField(struct: string, field: string): string | undefined {
  return descriptions[struct]?.fields?.[field] ?? everywhere[field];
}

/** Fields that mean the same wherever they stand. */
const everywhere: Record<string, string> = {
  apiVersion: 'The group and version of this form of the object, such as v1.',
  kind: 'What the object is. Cannot be changed.',
  metadata: "The object's name, namespace, labels, annotations and history.",
  spec: 'What is wanted.',
  status: 'What is so, as last reported.',
};

const descriptions: Record<string, Described> = {
  'core.v1.Node': {
    is: 'A machine that runs pods. Its kubelet registers it, keeps its status current, and follows the configuration that spec.configSource assigns to it.',
    fields: {
      spec: 'What is wanted of the node: whether pods may be scheduled to it, its taints, and the kubelet configuration it is to use.',
      status: 'What the kubelet last reported: conditions, addresses, capacity, and which configuration is in use.',
    },
  },
  'core.v1.NodeSpec': {
    is: 'What is wanted of a node.',
    fields: {
      configSource:
        'The kubelet configuration this node is to use. Name a ConfigMap here and the node downloads it, checks it and restarts its kubelet with it; take the field away and the node goes back to its local configuration. What became of it stands in status.config.',
      unschedulable: 'If true, new pods are not placed on this node. kubectl cordon and uncordon set it.',
      taints: 'Marks that keep away pods which do not tolerate them.',
      podCIDR: 'The first range of addresses for pods on this node.',
      podCIDRs: 'The ranges of addresses for pods on this node, at most one for each family.',
      providerID: 'How the cloud provider knows the node. Can be set once.',
      externalID: 'Unused; kept for old clients.',
    },
  },
  'core.v1.NodeConfigSource': {
    is: 'Where a kubelet configuration comes from. Exactly one of the references must be set.',
    fields: {
      configMap: 'A key of a ConfigMap that holds a KubeletConfiguration.',
      configMapRef:
        'The form of the years before 1.11: a ConfigMap by name, namespace and uid, whose configuration stands under the key kubelet. The node itself reports what is wrong with it.',
    },
  },
  'core.v1.ConfigMapNodeConfigSource': {
    is: 'One key of one ConfigMap. In spec it names what to use; in status it also says exactly which version was used.',
    fields: {
      namespace: 'The namespace of the ConfigMap. Required.',
      name: 'The name of the ConfigMap. Required.',
      kubeletConfigKey: 'The key whose value is the KubeletConfiguration, often kubelet. Required.',
      uid: 'The uid of the ConfigMap that was used. Set in status, forbidden in spec.',
      resourceVersion: 'The resourceVersion of the ConfigMap that was used. Set in status, forbidden in spec.',
    },
  },
  'core.v1.NodeConfigStatus': {
    is: 'What became of the assigned configuration.',
    fields: {
      assigned: 'The configuration the node has saved and will use, or tries to use.',
      active: 'The configuration the kubelet runs with now. Empty means the local one.',
      lastKnownGood:
        'The configuration that was healthy for a whole trial; the node falls back to it. Empty means the local one.',
      error: 'Why the assigned configuration is not in use. Search for this text in the log of the node.',
    },
  },
  'core.v1.NodeStatus': {
    is: 'What a kubelet last reported of its node.',
    fields: {
      conditions: 'Whether the node is ready, and what it is short of.',
      addresses: 'How the node can be reached.',
      capacity: 'All it has.',
      allocatable: 'What pods may use of it.',
      daemonEndpoints: 'The ports of the programs on the node.',
      nodeInfo: 'Versions and identities of the machine and its programs.',
      config: 'Which kubelet configuration is assigned, in use and known to be good, and what went wrong.',
      images: 'Container images that are there already.',
      phase: 'Unused.',
      volumesAttached: 'Volumes attached to the node.',
      volumesInUse: 'Volumes in use by the node.',
      runtimeHandlers: 'What its container runtime can do.',
      features: 'Features of its container runtime.',
    },
  },
  'core.v1.ConfigMap': {
    is: 'Configuration under keys, at most 1 MiB in all. A KubeletConfiguration for nodes is kept in one.',
    fields: {
      data: 'Texts under keys. Keys consist of letters, digits, -, _ and dots.',
      binaryData:
        'Bytes under keys, in base64. A key may stand in data or here, not in both. Kubelet configuration is read from data only.',
      immutable: 'If true, data can never be changed again; make a new ConfigMap and refer to it instead.',
    },
  },
  'core.v1.Secret': {
    is: 'Confidential bytes under keys, at most 1 MiB in all.',
    fields: {
      data: 'Bytes under keys, in base64.',
      stringData: 'Texts that are folded into data when written; never read back.',
      type: 'What the data is for. Cannot be changed.',
      immutable: 'If true, data can never be changed again.',
    },
  },
  'core.v1.Namespace': { is: 'A scope for names. Deleting it deletes everything in it.' },
  'core.v1.ServiceAccount': { is: 'An identity for programs.' },
  'core.v1.Pod': { is: 'Containers that run together on one node.' },
  'core.v1.Event': {
    is: 'Something that happened to an object, told by a component. Events fade; nothing should depend on them.',
    fields: {
      involvedObject: 'What it happened to.',
      reason: 'One word for programs.',
      message: 'A sentence for people.',
      type: 'Normal or Warning.',
      count: 'How often it happened.',
      firstTimestamp: 'When it was first seen.',
      lastTimestamp: 'When it was last seen.',
      source: 'Who says so.',
    },
  },
  'coordination.v1.Lease': {
    is: 'A claim that must be renewed: the heartbeat of a node, or the leadership among several programs.',
  },
  'rbac.v1.Role': { is: 'Permissions in one namespace.' },
  'rbac.v1.ClusterRole': {
    is: 'Permissions in the whole cluster, or in each namespace where a RoleBinding grants them.',
  },
  'rbac.v1.RoleBinding': { is: 'Grants a role to users, groups or service accounts in one namespace.' },
  'rbac.v1.ClusterRoleBinding': { is: 'Grants a ClusterRole to users, groups or service accounts everywhere.' },
  'rbac.v1.PolicyRule': {
    is: 'Which verbs are allowed on what.',
    fields: {
      verbs: 'get, list, watch, create, update, patch, delete and others; * for all.',
      apiGroups: 'The groups of the resources; "" is the core group, * all.',
      resources: 'The resources, with /status and the like for parts of them; * for all.',
      resourceNames: 'Only objects of these names; empty for all.',
      nonResourceURLs: 'Paths that are no resources, such as /metrics; only in ClusterRoles.',
    },
  },
  'apiextensions.v1.CustomResourceDefinition': {
    is: 'Defines a new kind of object that the server then stores, checks and serves.',
  },
  'admissionregistration.v1.ValidatingAdmissionPolicy': {
    is: 'Rules for what may be written, in CEL. It is asked once a binding puts it in force.',
  },
  'admissionregistration.v1.ValidatingAdmissionPolicySpec': {
    is: 'What it is about, and what must hold.',
    fields: {
      matchConstraints: 'Which requests it is about. Another version of the same resource does not pass by.',
      matchConditions: 'Expressions that must all hold for it to be asked.',
      variables: 'Expressions with names, for the others to use as variables.NAME. Evaluated when needed.',
      validations: 'Expressions that must hold, or the request is denied.',
      auditAnnotations: 'Expressions whose texts go to the audit log.',
      failurePolicy: 'What follows where an expression cannot be evaluated: Fail denies, Ignore lets pass.',
      paramKind: 'The kind of the objects that bindings hand to it as params.',
    },
  },
  'admissionregistration.v1.Validation': {
    is: 'An expression that must hold.',
    fields: {
      expression:
        'Sees object, oldObject, request, params, namespaceObject, variables and authorizer; must result in a bool.',
      message: 'What is told where it does not hold.',
      messageExpression: 'An expression for what is told; message is used where it fails.',
      reason: 'Invalid (the default, 422), Forbidden (403) or RequestEntityTooLarge (413).',
    },
  },
  'admissionregistration.v1.ValidatingAdmissionPolicyBinding': {
    is: 'Puts a policy in force: where, with which parameters, and with which consequences.',
  },
  'admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec': {
    is: 'Which policy, where, and with which consequences.',
    fields: {
      policyName: 'The policy.',
      paramRef: 'The objects that the policy sees as params.',
      matchResources: 'Narrows what the policy is about.',
      validationActions: 'What follows from a denial: Deny, Warn or Audit.',
    },
  },
  'meta.v1.ObjectMeta': {
    is: 'What every stored object has.',
    fields: {
      name: 'The name, unique among objects of this kind in their namespace. Cannot be changed.',
      generateName: 'The beginning of a name that the server completes, where name is empty.',
      namespace: 'The namespace the object is in. Cannot be changed.',
      labels: 'Short values under keys, by which objects are selected.',
      annotations: 'Longer values under keys, for people and tools.',
      uid: 'Unique for all time: an object that is deleted and made again has another.',
      resourceVersion: 'Changes with every write. Send it back and a write fails where somebody was faster.',
      generation: 'Counts changes of what is wanted.',
      creationTimestamp: 'When it was created.',
      deletionTimestamp: 'When it was asked to go. It goes once finalizers is empty.',
      deletionGracePeriodSeconds: 'How long it may take to go.',
      finalizers: 'Who still has to do something before the object may go.',
      ownerReferences: 'Objects this one belongs to; when all are gone, it goes too.',
      managedFields: 'Which manager set which field.',
      selfLink: 'Unused.',
    },
  },
};
