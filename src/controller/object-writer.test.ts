/** What the controller made is counted once, also when its own watch is late. */
import { expect, test } from 'vitest';
import { ApiError } from '../kube/api-error.js';
import type { KubeClient } from '../kube/client.js';
import { roles } from '../kube/resource-type.js';
import { ObjectWriter } from './object-writer.js';

test('an object that is there already, though the watch has not brought it yet, is not made a second time', async () => {
  let isThere = false;
  const client = {
    async create() {
      if (isThere) throw new ApiError(409, 'AlreadyExists', 'there already');
      isThere = true;
    },
  } as unknown as KubeClient;
  const writer = new ObjectWriter(client, new AbortController().signal);
  const place = { namespace: 'relet-system', name: 'a' };
  const make = () => writer.make(roles, place, { present: undefined, wanted: { metadata: {} }, fields: [] });
  expect([await make(), await make()]).toEqual([true, false]);
});
