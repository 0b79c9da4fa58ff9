/** The condition ConfigOK of a Node beside a NodeConfig: what it shows, and how seldom it is written. */
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { sourceOf } from '../../../test/rig/node.js';
import { ConfigError } from '../../api/config-error.js';
import type { NodeCondition } from '../../api/node-condition.js';
import { ApiError } from '../../api/status.js';
import { createLog } from '../../log.js';
import type { Report } from '../report/report.js';
import { NodeConditionWriter } from './node-condition.js';

const none = { assigned: undefined, active: undefined, lastKnownGood: undefined, warnings: [], initConfig: false };
const local: Report = none;
const active: Report = { ...none, assigned: sourceOf('1'), active: sourceOf('1') };
const pending: Report = { ...none, assigned: sourceOf('2'), active: sourceOf('1') };
const failed: Report = { ...pending, configError: new ConfigError('CrashLoop', 'exit code 1') };

const { signal } = new AbortController();
const ready = { type: 'Ready', status: 'True' };
let clock: ManualClock;
let requests: string[];
let logged: string[];
let node: { uid: string; conditions: NodeCondition[] } | undefined;
/** Answer to the next patch. */
let refusal: ApiError | undefined;
let writer: NodeConditionWriter;

const error = (code: number, reason: string) => new ApiError(code, reason, reason);
const object = () => {
  if (node === undefined) throw error(404, 'NotFound');
  const { uid, conditions } = node;
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid }, status: { conditions } };
};
const client = {
  get: async () => {
    requests.push('get');
    return object();
  },
  patch: async (
    _type: unknown,
    place: object,
    { status }: { status: { conditions: NodeCondition[] } },
    how: object,
  ) => {
    requests.push('patch');
    expect(place).toEqual({ name: 'n', subresource: 'status' });
    expect(how).toMatchObject({ as: 'strategic' });
    if (refusal) throw refusal;
    const others = node!.conditions.filter(({ type }) => !status.conditions.some((one) => one.type === type));
    node = { ...node!, conditions: [...others, ...status.conditions] };
  },
};

beforeEach(() => {
  clock = new ManualClock();
  requests = [];
  logged = [];
  node = { uid: 'u', conditions: [ready] };
  refusal = undefined;
  writer = newWriter();
});

const newWriter = () =>
  new NodeConditionWriter({
    client: client as never,
    name: 'n',
    clock,
    log: createLog({ format: 'text', write: (line) => logged.push(line) }),
  });
const patches = () => requests.filter((request) => request === 'patch').length;
const condition = () => node!.conditions.find(({ type }) => type === 'ConfigOK');

test('it has the reason and the message of the NodeConfig, beside the conditions of the kubelet', async () => {
  await writer.write(active, signal);
  expect(node!.conditions).toMatchObject([
    ready,
    { status: 'True', reason: 'ConfigActive', message: 'The kubelet runs with the assigned config.' },
  ]);
  await writer.write(failed, signal);
  expect(condition()).toMatchObject({ status: 'False', reason: 'CrashLoop' });
});

test('the time of the transition moves with the status, not with the reason', async () => {
  await writer.write(local, signal);
  const first = condition()!.lastTransitionTime;
  await clock.advance(60_000);
  await writer.write(active, signal);
  expect(condition()).toMatchObject({ reason: 'ConfigActive', lastTransitionTime: first });
  await writer.write(failed, signal);
  expect(condition()!.lastTransitionTime).not.toBe(first);
});

test('a change to another config writes nothing until it has failed; one that succeeds writes nothing at all', async () => {
  await writer.write(active, signal);
  expect(requests).toEqual(['get', 'patch']);
  await writer.write(pending, signal);
  await writer.write(active, signal);
  await writer.write({ ...active, trial: { deaths: 0, healthySeconds: 3 } }, signal);
  expect(requests).toEqual(['get', 'patch']);
  await writer.write(pending, signal);
  await writer.write(failed, signal);
  expect(patches()).toBe(2);
});

test('after a restart of relet what is there already is not written again', async () => {
  await writer.write(active, signal);
  writer = newWriter();
  await writer.write(pending, signal);
  await writer.write(active, signal);
  expect(patches()).toBe(1);
});

test('one that somebody else rewrites or removes is left alone until it changes', async () => {
  await writer.write(active, signal);
  node = { uid: 'u', conditions: [ready] };
  expect(writer.isReplaced(object())).toBe(false);
  await writer.write(active, signal);
  expect(condition()).toBeUndefined();
  await writer.write(failed, signal);
  expect(condition()).toMatchObject({ reason: 'CrashLoop' });
});

test('a Node that was registered again gets it', async () => {
  expect(writer.isReplaced(object())).toBe(false);
  await writer.write(active, signal);
  node = { uid: 'another', conditions: [ready] };
  expect(writer.isReplaced(object())).toBe(true);
  await writer.write(active, signal);
  expect(condition()).toMatchObject({ reason: 'ConfigActive' });
});

test('a Node that is not registered yet gets it with a later report', async () => {
  const present = node;
  node = undefined;
  await writer.write(active, signal);
  node = present;
  await writer.write(active, signal);
  expect(condition()).toMatchObject({ reason: 'ConfigActive' });
});

test('a server that does not allow it is asked once for each change, and that is logged', async () => {
  refusal = error(403, 'Forbidden');
  for (let times = 0; times < 3; times++) await writer.write(active, signal);
  expect(writer.isReplaced(object())).toBe(false);
  expect(patches()).toBe(1);
  expect(logged).toEqual([expect.stringContaining('condition of the Node cannot be written')]);
  await writer.write(failed, signal);
  expect(patches()).toBe(2);
});

test('a server that fails is asked again', async () => {
  refusal = error(500, 'InternalError');
  await expect(writer.write(active, signal)).rejects.toThrow('InternalError');
  refusal = undefined;
  await writer.write(active, signal);
  expect(condition()).toMatchObject({ reason: 'ConfigActive' });
});
