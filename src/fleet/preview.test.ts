/** Effects of a change, and whether it may be made. */
import { describe, expect, test } from 'vitest';
import type { KubeletConfig } from '../config/model.js';
import type { NodeFacts, PodFacts } from '../config/node-facts.js';
import { acceptError, mayLoseGpus, owedBy, previewChanges, previewOverlays } from './preview.js';

const giga = 1_000_000_000n;
const pod = (index: number): PodFacts => ({
  name: `default/web-${index}`,
  createdAt: `2026-01-01T00:00:0${index}Z`,
  requests: {},
  qosClass: 'BestEffort',
  isStatic: false,
  ofDaemonSet: false,
  sysctls: [],
  hasUserNamespace: false,
});
const node: NodeFacts = {
  pods: [3, 1, 2, 0].map(pod),
  capacity: { cpu: 4n * giga, pods: 110n * giga },
  allocatable: { cpu: 4n * giga, pods: 110n * giga },
};
const preview = (before: KubeletConfig, after: KubeletConfig, facts?: NodeFacts) =>
  previewChanges({ before, after, minor: 36, ...(facts && { facts }) });

describe('preview: pods', () => {
  test('the youngest pods beyond a lowered maxPods are named', () => {
    expect(preview({}, { maxPods: 2 }, node).pods).toEqual({
      kind: 'fail admission',
      pods: [
        { pod: 'default/web-2', reason: 'OutOfpods' },
        { pod: 'default/web-3', reason: 'OutOfpods' },
      ],
    });
  });

  test('a lowered maxPods that all pods still fit is known to leave them alone', () => {
    expect(preview({}, { maxPods: 4 }, node).pods).toEqual({ kind: 'unaffected' });
  });

  test('a lowered maxPods is not called harmless where pods could not be read', () => {
    expect(preview({}, { maxPods: 100 }).pods).toEqual({ kind: 'unknown' });
  });

  test('pods that no longer fit fail at the restart whatever is changed', () => {
    const tooMany = { ...node, allocatable: { cpu: 4n * giga, pods: 3n * giga } };
    expect(preview({}, { syncFrequency: '30s' }, tooMany).pods).toMatchObject({ pods: [{ pod: 'default/web-3' }] });
  });
});

test('a value that the new config does not set is marked as dropped, with the default that takes its place', () => {
  expect(preview({ maxPods: 250, registryPullQPS: 7 }, { registryPullQPS: 8 }).changes).toMatchObject([
    { path: 'registryPullQPS', before: 7, after: 8 },
    { path: 'maxPods', before: 250, after: 110, dropped: true },
  ]);
});

test.each([
  ['systemd', 'nvidia.com/gpu', 4n, true],
  ['systemd', 'nvidia.com/mig-1g.5gb', 7n, true],
  ['systemd', 'nvidia.com/gpu', 0n, false],
  ['systemd', 'amd.com/gpu', 4n, false],
  ['process', 'nvidia.com/gpu', 4n, false],
  [undefined, 'nvidia.com/gpu', 4n, false],
])('driver %s, %s: %s: running containers may lose GPUs: %s', (driver, resource, amount, expected) => {
  expect(mayLoseGpus({ driver }, { capacity: { [resource]: amount * giga } })).toBe(expected);
});

describe('preview: what must be accepted', () => {
  const restart = preview({}, { maxPods: 120 });
  const stateFile = preview({}, { cpuManagerPolicy: 'static' });
  const reboot = preview({}, { cgroupDriver: 'systemd' });
  const both = preview({}, { cgroupDriver: 'systemd', cpuManagerPolicy: 'static' });
  const never = preview({ staticPodPath: '/a' }, { staticPodPath: '/b' });

  test.each([
    ['a restart needs no flag', restart, [], undefined],
    ['a reboot is refused without its flag', reboot, [], /cgroupDriver .*reboot.*--accept=reboot$/s],
    ['another class does not cover it', reboot, ['state-file'], /--accept=reboot$/],
    [
      'a state file is refused without its flag',
      stateFile,
      ['drain'],
      /cpuManagerPolicy.*use --drain --accept=state-file; without/s,
    ],
    ['the matching class lets it through', reboot, ['reboot'], undefined],
    ['two classes need both', both, ['reboot'], /cpuManagerPolicy.*--accept=state-file,reboot$/s],
    ['two classes with both', both, ['state-file', 'reboot'], undefined],
    [
      'class never has no flag',
      never,
      ['drain', 'state-file', 'reboot'],
      /staticPodPath cannot .* no flag allows this$/s,
    ],
  ] as const)('%s', (_name, shown, accepted, error) => {
    if (error === undefined) expect(acceptError(shown, accepted)).toBeUndefined();
    else expect(acceptError(shown, accepted)).toMatch(error);
  });

  test('going back to an earlier config is possible also where the way there was of class never', () => {
    expect(acceptError(never, [], { isReturn: true })).toBeUndefined();
  });

  test('a drain is part of a reboot', () => {
    const drain = preview({}, { topologyManagerPolicy: 'restricted' });
    expect(acceptError(drain, ['reboot'])).toBeUndefined();
  });

  test('where a drain is needed, --drain is the first advice, and the verbs that have none name --accept alone', () => {
    const drain = preview({}, { topologyManagerPolicy: 'restricted' });
    expect(acceptError(drain, [])).toMatch(
      /To go ahead, use --drain, which drains .*; --accept=drain changes it without a drain$/,
    );
    expect(acceptError(drain, [], { isReturn: true })).toMatch(/To go ahead, use --accept=drain$/);
  });

  test('what is left to do afterwards is each class above restart', () => {
    expect(owedBy(restart)).toBeUndefined();
    expect(owedBy(both)).toEqual({ needs: ['state-file', 'reboot'], fields: ['cgroupDriver', 'cpuManagerPolicy'] });
  });

  test('a node that was drained before owes no drain, and still its reboot', () => {
    const daemon = { ...node, pods: [{ ...pod(0), ofDaemonSet: true }] };
    const drain = preview({}, { topologyManagerPolicy: 'restricted' });
    expect(owedBy(drain, node)?.needs).toEqual(['drain']);
    expect(owedBy(drain, daemon)).toBeUndefined();
    expect(owedBy(reboot, daemon)?.needs).toEqual(['reboot']);
  });

  test('a change that fails pods must be accepted, and leaves nothing to do: they are gone', () => {
    const fails = preview({}, { maxPods: 2 }, node);
    expect(acceptError(fails, [])).toMatch(/maxPods .*more run than it will admit.*use --drain,/s);
    expect(owedBy(fails)).toBeUndefined();
  });
});

describe('preview: on a node whose local config is not known', () => {
  const changes = (before: KubeletConfig, after: KubeletConfig, unset: string[] = [], running?: KubeletConfig) =>
    previewOverlays({ before: { config: before, unset: [] }, after: { config: after, unset }, running }, 36).changes;

  test('a value that only the local config can have is not known, unless it runs', () => {
    expect(changes({}, { maxPods: 5 })).toMatchObject([
      { path: 'maxPods', unknown: 'before', after: 5, needs: 'restart' },
    ]);
    expect(changes({}, { maxPods: 5 }, [], { maxPods: 9 })).toMatchObject([{ path: 'maxPods', before: 9, after: 5 }]);
    expect(changes({ maxPods: 5 }, {})).toMatchObject([{ path: 'maxPods', before: 5, unknown: 'after' }]);
  });

  test('only what the overlays say differently is a change', () => {
    const both = { podsPerCore: 3, evictionHard: { 'memory.available': '5%' } };
    const found = changes({ ...both, maxPods: 4 }, { ...both, maxPods: 5 }, ['clusterDomain']);
    expect(found.map(({ path, before, after }) => [path, before, after])).toEqual([
      ['maxPods', 4, 5],
      ['clusterDomain', undefined, undefined],
    ]);
  });
});

describe('preview: cost', () => {
  /** How often the fields of a config are listed while it is previewed. */
  function readsWith(keys: number): number {
    let reads = 0;
    const before = Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, '1Mi']));
    const counted = new Proxy<KubeletConfig>(
      { kubeReserved: before },
      {
        ownKeys(target) {
          reads++;
          return Reflect.ownKeys(target);
        },
      },
    );
    expect(preview(counted, {}, node).changes).toHaveLength(keys);
    return reads;
  }

  test('a config is read as often for a map of which a thousand keys change as for one key', () => {
    expect(readsWith(1000)).toBe(readsWith(1));
  });

  test('the pods of a node are admitted as often for a thousand changed thresholds as for one', () => {
    function admissions(keys: number): number {
      let reads = 0;
      const counted = new Proxy(node.pods!, {
        get(target, name, receiver) {
          if (name === Symbol.iterator) reads++;
          return Reflect.get(target, name, receiver);
        },
      });
      const evictionHard = Object.fromEntries(Array.from({ length: keys }, (_, index) => [`signal${index}`, '1Mi']));
      preview({}, { evictionHard }, { ...node, pods: counted });
      return reads;
    }
    expect(admissions(1000)).toBe(admissions(1));
  });
});
