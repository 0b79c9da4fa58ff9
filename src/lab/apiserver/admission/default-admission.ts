/** The admission plugins of this server, in the order in which Kubernetes asks them. */

import { namespaceLifecycle } from '../../../memory-api/admission/namespace-lifecycle.js';
import { podPriority, tolerationSeconds } from '../../../memory-api/admission/pod-defaults.js';
import type { Objects } from '../../../memory-api/admission/rejection.js';
import { taintNodes } from '../../../memory-api/admission/taint-nodes.js';
import { type Admission, admissionChain } from '../../../memory-api/admission.js';
import type { Random } from '../../../random.js';
import { nodeRestriction } from './node-restriction.js';
import { serviceAccount } from './service-account.js';

export const defaultAdmission = (objects: Objects, random: Random): Admission =>
  admissionChain([
    namespaceLifecycle(objects),
    serviceAccount(objects, random),
    nodeRestriction(objects),
    taintNodes,
    podPriority,
    tolerationSeconds,
  ]);
