/** The admission plugins of this server, in the order in which Kubernetes asks them. */
import type { Random } from '../../../random.js';
import { type Admission, admissionChain } from '../admission.js';
import { namespaceLifecycle } from './namespace-lifecycle.js';
import { nodeRestriction } from './node-restriction.js';
import { podPriority, tolerationSeconds } from './pod-defaults.js';
import type { Objects } from './rejection.js';
import { serviceAccount } from './service-account.js';
import { taintNodes } from './taint-nodes.js';

export const defaultAdmission = (objects: Objects, random: Random): Admission =>
  admissionChain([
    namespaceLifecycle(objects),
    serviceAccount(objects, random),
    nodeRestriction(objects),
    taintNodes,
    podPriority,
    tolerationSeconds,
  ]);
