/** Priority and DefaultTolerationSeconds: defaults for every new pod. */
import type { Admission, AdmissionRequest } from '../admission.js';
import { isAbout, rejection } from './rejection.js';

interface Toleration {
  key?: string;
  operator?: string;
  effect?: string;
  tolerationSeconds?: number;
}

interface PodSpec {
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
  tolerations?: Toleration[];
}

/** The two classes every cluster has; this server stores no others. */
const priorityClasses = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);
const preemption = 'PreemptLowerPriority';

export const podPriority: Admission = {
  mutate(request) {
    const spec = podSpec(request);
    if (spec === undefined || request.operation !== 'CREATE') return;
    const { priorityClassName: name } = spec;
    const priority = name ? priorityClasses.get(name) : 0;
    if (priority === undefined) throw rejection(request, `no PriorityClass with name ${name} was found`);
    if (spec.priority != null && spec.priority !== priority)
      throw rejection(
        request,
        `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
      );
    if (spec.preemptionPolicy && spec.preemptionPolicy !== preemption)
      throw rejection(
        request,
        `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemption} from the given PriorityClass name`,
      );
    spec.priority = priority;
    spec.preemptionPolicy = preemption;
  },
  validate() {},
};

/** By default a pod stays five minutes on a node that is not ready or unreachable. */
export const tolerationSeconds: Admission = {
  mutate(request) {
    const spec = podSpec(request);
    if (spec === undefined || request.operation === 'DELETE') return;
    for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
      const known = spec.tolerations ?? [];
      if (!known.some((toleration) => toleratesEviction(toleration, key)))
        spec.tolerations = [...known, { effect: 'NoExecute', key, operator: 'Exists', tolerationSeconds: 300 }];
    }
  },
  validate() {},
};

const toleratesEviction = ({ key, effect }: Toleration, taint: string) =>
  (!key || key === taint) && (!effect || effect === 'NoExecute');

function podSpec(request: AdmissionRequest): PodSpec | undefined {
  if (!isAbout(request, 'pods') || request.object === undefined) return undefined;
  request.object.spec ??= {};
  return request.object.spec as PodSpec;
}
