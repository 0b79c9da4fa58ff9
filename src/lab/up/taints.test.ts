/** The taint that keeps pods away from a Node that is not Ready. */
import { describe, expect, test } from 'vitest';
import { taintsFor } from './taints.js';

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const hollow = { key: 'relet.dev/hollow', value: 'true', effect: 'NoSchedule' };
const evicting = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };
const node = (status: string | undefined, ...taints: object[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  spec: { taints },
  status: { conditions: status === undefined ? [] : [{ type: 'Ready', status }] },
});

describe('taints', () => {
  test.each([
    ['a Ready Node loses it, and keeps the others', node('True', hollow, notReady, evicting), [hollow, evicting]],
    ['a Ready Node without it is left alone', node('True', hollow), undefined],
    ['a Node that is not Ready gets it', node('False', hollow), [hollow, notReady]],
    ['a Node whose state is unknown gets it', node('Unknown'), [notReady]],
    ['a Node that never said anything keeps it', node(undefined, notReady), undefined],
  ])('%s', (_name, object, expected) => expect(taintsFor(object)).toEqual(expected));
});
