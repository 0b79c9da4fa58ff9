/** Objects that exist are not created twice. */
import { expect, test } from 'vitest';
import { ApiError } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { roles } from '../kube/resource-type.js';
import { ObjectWriter } from './object-writer.js';

test('an object that exists but is not cached yet counts as created once', async () => {
  let exists = false;
  const client = {
    async create() {
      if (exists) throw new ApiError(409, 'AlreadyExists', 'exists');
      exists = true;
    },
  } as unknown as KubeClient;
  const writer = new ObjectWriter(client, new AbortController().signal);
  const place = { namespace: 'relet-system', name: 'a' };
  const create = () =>
    writer.createOrUpdate(roles, place, { present: undefined, wanted: { metadata: {} }, fields: [] });
  expect([await create(), await create()]).toEqual([true, false]);
});
