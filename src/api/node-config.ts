/**
 * NodeConfig: the reference from a node to its config on API servers that keep no spec.configSource in Nodes. One for each
 * Node, under its name. The fields mean what they meant in the Node, so what reads `.spec.configSource` and
 * `.status.config` works with both. deploy/base/nodeconfigs.relet.dev.yaml has the schema.
 */
import type { AgentLease } from './agent-lease.js';
import type { NodeConfigSource, NodeConfigStatus } from './config-ref.js';
import type { KubeObject } from './object.js';
import type { Observed } from './observe.js';
import type { RejectedPods } from './rejected-pods.js';
import type { SigningStatus } from './signing.js';

/** On a ConfigMap: it holds a kubelet config. Without it no node reads it through a NodeConfig, and nobody is granted it. */
export const configLabel = 'relet.dev/kubelet-config';

/** Default namespace of configs. Its own, because many parties may write ConfigMaps in kube-system. */
export const configNamespace = 'relet-system';
/** Default namespace of configs before 0.1.0. References to it stay valid. */
export const formerConfigNamespace = 'kube-system';
/**
 * Renewed by the controller each time it has checked the guards. A condition in a NodeConfig stays what it was when no controller
 * runs; this Lease shows how old it is, with one write a minute for the whole cluster.
 */
export const guardsLease = 'relet-guards';
/** The reason of the condition Guarded while admission policies are the guards. */
export const guardedByPolicies = 'AdmissionPolicies';
/** Namespaces in which configs of relet may be. */
export const configNamespaces: readonly string[] = [configNamespace, formerConfigNamespace];

/**
 * On a NodeConfig that the controller made, until somebody writes its spec: it is unset and assigns nothing, neither a config nor
 * local. So a NodeConfig that was deleted and is made again resets no node.
 */
const unsetAnnotation = 'relet.dev/unset';
/**
 * Its name before 0.1.0. Still written beside the new one: an agent from then takes an empty spec without this annotation
 * for an assignment of the local config. Still read: NodeConfigs of a controller from then have only this one.
 */
const formerUnsetAnnotation = 'relet.dev/undecided';

/**
 * On a NodeConfig: the agent beside the kubelet is to remove its files from the host, once the kubelet is healthy with the local config.
 * Without effect while a config is assigned. The time at which it was asked for.
 */
export const detachAnnotation = 'relet.dev/detach';

/** 'true' marks a NodeConfig as unset; null in a patch removes the mark. */
export const unsetAnnotations = <T extends 'true' | null>(value: T): Record<string, T> => ({
  [unsetAnnotation]: value,
  [formerUnsetAnnotation]: value,
});

/** Its address in the API. */
export const nodeConfigs = { group: 'relet.dev', version: 'v1alpha1', resource: 'nodeconfigs' } as const;

export interface NodeConfig extends KubeObject {
  spec?: { configSource?: NodeConfigSource };
  status?: NodeConfigObjectStatus;
}

export interface NodeConfigObjectStatus {
  /** Generation of the spec that `config` is about. */
  observedGeneration?: number;
  /** As Node.status.config. */
  config?: NodeConfigStatus;
  conditions?: NodeConfigCondition[];
  /** Present while a config has to prove itself. */
  trial?: TrialState;
  /** Fields that flags of the kubelet set; what a config says about them has no effect. */
  pinnedByFlags?: string[];
  warnings?: string[];
  /** The last changes of what runs, newest first. */
  changes?: ConfigChange[];
  /** Why, in detail, for the error in `config`. */
  cause?: string;
  /** Present while the node follows no new assignment. */
  held?: HeldState;
  /** Configs changed in quick succession: the newest one is used only from this time on. */
  restartDelayedUntil?: string;
  agentVersion?: string;
  /** Renewed by the agent while it runs. Absent with an agent of an earlier relet. */
  lease?: AgentLease;
  /** How long a config is on trial on this node. */
  trialSeconds?: number;
  /**
   * How the agent drives the kubelet: `process` when relet is its parent, `systemd` when it stays in its own unit; `k3s-agent`,
   * `k3s-server`, `rke2-agent` and `rke2-server` when it is a part of that program.
   */
  driver?: string;
  /** Config of the next kubelet start, if it is not the active one: NAMESPACE/NAME/KEY, or local. */
  nextStart?: string;
  /** The last lines of the kubelet that the error in `config` is about. */
  kubeletLog?: string[];
  /** The node's local config as written. Absent when it is unknown or too large. */
  localConfig?: LocalConfig;
  /** The flags of its kubelet. Absent when they are unknown. */
  kubeletFlags?: KubeletFlag[];
  /** Present on a host with a trust file. */
  signing?: SigningStatus;
  /** Answer to the newest request in the annotation relet.dev/observe. */
  observed?: Observed;
  /** Present where pods that ran did not survive the restart of the kubelet with the active config. */
  rejectedPods?: RejectedPods;
}

export interface KubeletFlag {
  /** Without dashes. */
  name: string;
  /** Absent where relet does not need it, or it may hold a secret. */
  value?: string;
}

export interface LocalConfig {
  /** The file of --config, then the drop-ins in the order in which they apply. Empty on a host without either. */
  files: { path: string; dropIn?: true; config: Record<string, unknown> }[];
}

/** A person on the host holds the node: it follows no new assignment until it is released there. */
export interface HeldState {
  since?: string;
  why?: string;
  who?: string;
}

export interface TrialState {
  deaths: number;
  healthySeconds: number;
  /** When it will be over if all stays well; absent while the kubelet is not healthy. */
  endsAt?: string;
}

export interface ConfigChange {
  at: string;
  /** `namespace/name/key`, or `local`. */
  from: string;
  to: string;
  /** Why it is not what was assigned. */
  error?: string;
}

export interface NodeConfigCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  /** Generation of the NodeConfig when this was decided. */
  observedGeneration?: number;
}

/** Written by the node itself. Granted and Guarded, in the same list, are the controller's. */
export const nodeConditions = [
  'ConfigOK',
  'OnTrial',
  'ActionOwed',
  'UpgradeRisk',
  'UnitOK',
  'BootRisk',
  'TrustFileUsable',
  'SignatureExpired',
  'UnsignedAccepted',
] as const;
/** Set to True by the controller, and back to False by the agent with its next report: it costs no request of its own. */
export const agentMissingCondition = 'AgentMissing';

/** No configSource, and nobody has written the spec: no instruction. Any change of the spec is one. */
export function isUnset({ metadata, spec }: NodeConfig): boolean {
  const isUntouched = (metadata.generation ?? 1) <= 1;
  const isMarked = [unsetAnnotation, formerUnsetAnnotation].some((name) => metadata.annotations?.[name] !== undefined);
  return spec?.configSource === undefined && isUntouched && isMarked;
}

/** The conditions with these added or replaced. The time of a condition changes only with its status, not with its reason. */
export function withConditions(
  present: readonly NodeConfigCondition[] | undefined,
  wanted: readonly Omit<NodeConfigCondition, 'lastTransitionTime'>[],
  now: string,
): NodeConfigCondition[] {
  const next = [...(present ?? [])];
  for (const condition of wanted) {
    const index = next.findIndex(({ type }) => type === condition.type);
    const before = next[index];
    const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : now;
    if (index < 0) next.push({ ...condition, lastTransitionTime });
    else next[index] = { ...condition, lastTransitionTime };
  }
  return next;
}
