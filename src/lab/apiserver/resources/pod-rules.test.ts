/** Validation of Pods, with the messages of a real server. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { pods } from './pods.js';

const container = { name: 'c', image: 'i' };

function pod(spec: object): KubeObject {
  const made = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n' },
    spec: { containers: [container], ...spec },
  } as unknown as KubeObject;
  pods.strategy.setDefaults(made);
  return made;
}

const errorsOf = (spec: object) => pods.strategy.validateCreate(pod(spec)).map(fieldErrorText);
const inside = (parts: object) => errorsOf({ containers: [{ ...container, ...parts }] });

test('a plain pod is accepted', () => {
  expect(errorsOf({})).toEqual([]);
});

test('a pod without containers is rejected', () => {
  expect(errorsOf({ containers: null })).toEqual(['spec.containers: Required value']);
});

describe('validation of containers', () => {
  const at = 'spec.containers[0]';
  test.each<[string, object, string[]]>([
    [
      'an image with blanks',
      { image: ' i ' },
      [`${at}.image: Invalid value: " i ": must not have leading or trailing whitespace`],
    ],
    [
      'an invalid port',
      { ports: [{ containerPort: 70000, protocol: 'X' }] },
      [
        `${at}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
        `${at}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
      ],
    ],
    [
      'invalid environment variables',
      { env: [{ name: '' }, { name: 'a=b' }] },
      [
        `${at}.env[0].name: Required value`,
        `${at}.env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    [
      'a mount of nothing',
      { volumeMounts: [{ name: 'x', mountPath: '/a' }] },
      [`${at}.volumeMounts[0].name: Not found: "x"`],
    ],
    [
      'a probe without a handler',
      { livenessProbe: {} },
      [`${at}.livenessProbe: Required value: must specify a handler type`],
    ],
    [
      'a resource without a name',
      { resources: { requests: { foo: '1' } } },
      [
        `${at}.resources.requests[foo]: Invalid value: foo: must be a standard resource type or fully qualified`,
        `${at}.resources.requests[foo]: Invalid value: foo: must be a standard resource for containers`,
      ],
    ],
    [
      'requests above limits',
      { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
      [`${at}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`],
    ],
  ])('%s', (_name, parts, messages) => {
    expect(inside(parts)).toEqual(messages);
  });
});

describe('validation of pods', () => {
  test.each<[string, object, string[]]>([
    [
      'two volumes with the same name',
      { volumes: [{ name: 'v' }, { name: 'v', emptyDir: {} }] },
      ['spec.volumes[1].name: Duplicate value: "v"'],
    ],
    [
      'a volume with two sources',
      { volumes: [{ name: 'v', emptyDir: {}, configMap: { name: 'm' } }] },
      ['spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'a volume of a secret without a name',
      { volumes: [{ name: 'v', secret: {} }] },
      ['spec.volumes[0].secret.secretName: Required value'],
    ],
    [
      'invalid tolerations',
      {
        tolerations: [
          { operator: 'Exists', value: 'x' },
          { key: 'a', effect: 'X' },
        ],
      },
      [
        'spec.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` is \'Exists\'',
        'spec.tolerations[1].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      'a deadline of 0',
      { activeDeadlineSeconds: 0 },
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      'a host port that differs with host network',
      { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 81 }] }] },
      [
        'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
      ],
    ],
    [
      'a node name with scheduling gates',
      { nodeName: 'n', schedulingGates: [{ name: 'a.b/c' }] },
      ['spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
  ])('%s', (_name, spec, messages) => {
    expect(errorsOf(spec)).toEqual(messages);
  });

  test('a negative grace period becomes a second', () => {
    expect(pod({ terminationGracePeriodSeconds: -1 }).spec).toMatchObject({ terminationGracePeriodSeconds: 1 });
  });

  test('podIP and podIPs agree', () => {
    for (const status of [{ podIP: '10.0.0.1' }, { podIPs: [{ ip: '10.0.0.1' }] }]) {
      const changed = { ...pod({}), status };
      pods.strategy.setDefaults(changed);
      expect(changed.status).toEqual({ podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] });
    }
  });
});
