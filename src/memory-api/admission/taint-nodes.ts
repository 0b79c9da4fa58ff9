/** TaintNodesByCondition: a new Node is tainted as not ready, so that no pod is scheduled to it too early. */
import type { Admission } from '../admission.js';
import { isAbout } from './rejection.js';

interface Taint {
  key: string;
  effect: string;
}

const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

export const taintNodes: Admission = {
  mutate(request) {
    const { operation, object } = request;
    if (operation !== 'CREATE' || object === undefined || !isAbout(request, 'nodes')) return;
    const spec = (object.spec ?? {}) as { taints?: Taint[] };
    object.spec = spec;
    const taints = spec.taints ?? [];
    if (!taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect))
      spec.taints = [...taints, { ...notReady }];
  },
  validate() {},
};
