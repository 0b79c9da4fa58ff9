/** Descriptions for `kubectl explain`, in our own words: short for most fields, longer for those that relet uses. */

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

/** Fields with the same meaning in all types. */
const everywhere: Record<string, string> = {
  apiVersion: 'The API group and version of the object, such as v1.',
  kind: 'The kind of the object. Cannot be changed.',
  metadata: "The object's name, namespace, labels, annotations and history.",
  spec: 'The desired state.',
  status: 'The last reported state.',
};

const descriptions: Record<string, Described> = {
  'core.v1.Node': {
    is: 'A machine that runs pods. Its kubelet registers it, updates its status, and uses the configuration that spec.configSource assigns.',
    fields: {
      spec: 'The desired state of the node: whether pods may be scheduled to it, its taints, and its kubelet configuration.',
      status:
        'The state that the kubelet last reported: conditions, addresses, capacity, and the configuration in use.',
    },
  },
  'core.v1.NodeSpec': {
    is: 'The desired state of a node.',
    fields: {
      configSource:
        'The kubelet configuration of this node. The node downloads and validates the ConfigMap named here and restarts its kubelet with it; without this field the node uses its local configuration. status.config shows the result.',
      unschedulable: 'If true, new pods are not placed on this node. kubectl cordon and uncordon set it.',
      taints: 'Keep away pods that do not tolerate them.',
      podCIDR: 'The first range of addresses for pods on this node.',
      podCIDRs: 'The ranges of addresses for pods on this node, at most one for each family.',
      providerID: 'The ID of the node at the cloud provider. Can be set once.',
      externalID: 'Unused; kept for old clients.',
    },
  },
  'core.v1.NodeConfigSource': {
    is: 'Where a kubelet configuration comes from. Exactly one of the references must be set.',
    fields: {
      configMap: 'A key of a ConfigMap that contains a KubeletConfiguration.',
      configMapRef:
        'The form of Kubernetes before 1.11: a ConfigMap by name, namespace and uid, with the configuration in the key kubelet. Not validated by the server; the node reports errors.',
    },
  },
  'core.v1.ConfigMapNodeConfigSource': {
    is: 'One key of one ConfigMap. In status it also has the uid and resourceVersion that were used.',
    fields: {
      namespace: 'The namespace of the ConfigMap. Required.',
      name: 'The name of the ConfigMap. Required.',
      kubeletConfigKey: 'The key whose value is the KubeletConfiguration, often kubelet. Required.',
      uid: 'The uid of the ConfigMap that was used. Set in status, forbidden in spec.',
      resourceVersion: 'The resourceVersion of the ConfigMap that was used. Set in status, forbidden in spec.',
    },
  },
  'core.v1.NodeConfigStatus': {
    is: 'The state of the assigned configuration.',
    fields: {
      assigned: 'The configuration the node has saved and will use, or tries to use.',
      active: 'The configuration the kubelet runs with now. Empty means the local one.',
      lastKnownGood:
        'The configuration that was healthy for a whole trial; the node falls back to it. Empty means the local one.',
      error: 'Why the assigned configuration is not in use. Search for this text in the log of the node.',
    },
  },
  'core.v1.NodeStatus': {
    is: 'The state that a kubelet last reported of its node.',
    fields: {
      conditions: 'Whether the node is ready, and which resources are low.',
      addresses: 'Addresses of the node.',
      capacity: 'All resources of the node.',
      allocatable: 'Resources available to pods.',
      daemonEndpoints: 'The ports of the programs on the node.',
      nodeInfo: 'Versions and identities of the machine and its programs.',
      config: 'The kubelet configuration that is assigned, active and last known good, and the error if there is one.',
      images: 'Container images on the node.',
      phase: 'Unused.',
      volumesAttached: 'Volumes attached to the node.',
      volumesInUse: 'Volumes in use by the node.',
      runtimeHandlers: 'Handlers of its container runtime.',
      features: 'Features of its container runtime.',
    },
  },
  'core.v1.ConfigMap': {
    is: 'Configuration data by key, at most 1 MiB in total. A KubeletConfiguration for nodes is stored in one.',
    fields: {
      data: 'Text by key. Keys consist of letters, digits, -, _ and dots.',
      binaryData:
        'Bytes by key, in base64. A key may be in data or here, not in both. Kubelet configuration is read from data only.',
      immutable: 'If true, data cannot be changed any more; create a new ConfigMap instead.',
    },
  },
  'core.v1.Namespace': { is: 'A scope for names. Deleting it deletes everything in it.' },
  'core.v1.ServiceAccount': { is: 'An identity for programs.' },
  'core.v1.Pod': { is: 'Containers that run together on one node.' },
  'coordination.v1.Lease': {
    is: 'A claim that must be renewed: the heartbeat of a node, or leader election among programs.',
  },
  'rbac.v1.Role': { is: 'Permissions in one namespace.' },
  'rbac.v1.ClusterRole': {
    is: 'Permissions in the whole cluster, or in each namespace where a RoleBinding grants them.',
  },
  'rbac.v1.RoleBinding': { is: 'Grants a role to users, groups or service accounts in one namespace.' },
  'rbac.v1.ClusterRoleBinding': { is: 'Grants a ClusterRole to users, groups or service accounts everywhere.' },
  'apiextensions.v1.CustomResourceDefinition': {
    is: 'Defines a new kind of object that the server stores, validates and serves.',
  },
  'admissionregistration.v1.ValidatingAdmissionPolicy': {
    is: 'Validation rules for writes, in CEL. It applies once there is a binding.',
  },
  'meta.v1.ObjectMeta': {
    is: 'Metadata of every stored object.',
    fields: {
      name: 'The name, unique among objects of this kind in their namespace. Cannot be changed.',
      generateName: 'The prefix of a generated name, where name is empty.',
      namespace: 'The namespace the object is in. Cannot be changed.',
      labels: 'Short values by key, by which objects are selected.',
      annotations: 'Longer values by key, for people and tools.',
      uid: 'Unique for all time: an object that is deleted and created again has another.',
      resourceVersion: 'Changes with every write. A write with an older value is a conflict.',
      generation: 'Counts changes of the desired state.',
      creationTimestamp: 'When it was created.',
      deletionTimestamp: 'When deletion was requested. The object is removed once finalizers is empty.',
      deletionGracePeriodSeconds: 'The grace period of the deletion.',
      finalizers: 'Controllers that must act before the object is removed.',
      ownerReferences: 'Owners of this object; when all are deleted, it is deleted too.',
      managedFields: 'Which manager set which field.',
      selfLink: 'Unused.',
    },
  },
};
