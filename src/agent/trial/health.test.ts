/** Whether an answer came from the kubelet. */
import { describe, expect, test } from 'vitest';
import type { PortOwner } from '../drivers/driver.js';
import { ownsPorts, patienceMs } from './health.js';

const ports = { healthz: { host: '127.0.0.1', port: 10248 }, serves: { host: '0.0.0.0', port: 10250 } };
const other = { other: 'pid 9' };

describe('an answer counts', () => {
  test.each<[string, [PortOwner, PortOwner] | undefined, number, object]>([
    ['when the kubelet has both ports', ['kubelet', 'kubelet'], 0, { isAlive: true }],
    ['not when its main port is taken', ['kubelet', other], 0, { isAlive: false, taken: { port: 10250, by: 'pid 9' } }],
    ['not when another answers', [other, 'kubelet'], 0, { isAlive: false, taken: { port: 10248, by: 'pid 9' } }],
    ['not while it has not opened its main port', ['kubelet', 'nobody'], 0, { isAlive: false }],
    ['when nobody opens that port, after a while', ['kubelet', 'nobody'], patienceMs, { isAlive: true }],
    ['not when the kubelet has exited', undefined, patienceMs, { isAlive: false }],
  ])('%s', async (_name, owners, answeredForMs, expected) => {
    expect(await ownsPorts({ portOwners: async () => owners }, ports, answeredForMs)).toEqual(expected);
  });

  test('also where a config opens no port, as long as the kubelet is running', async () => {
    const none = { healthz: undefined, serves: undefined };
    expect(await ownsPorts({ portOwners: async () => [] }, none, 0)).toEqual({ isAlive: true });
  });
});
