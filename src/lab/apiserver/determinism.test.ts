/** The server in memory, on a manual clock and with seeded randomness: equal requests give equal bytes. */
import { expect, test } from 'vitest';
import { callInMemory } from '../../../test/apiserver/call-in-memory.js';
import { startInMemoryServer } from '../../../test/in-memory-server.js';

/** Everything that one run answers, and all that is stored in the end. */
async function run(seed: string): Promise<string[]> {
  const { clock, plane } = await startInMemoryServer(seed);
  const answers: string[] = [];
  const ask = async (method: string, path: string, body?: object) => {
    const response = await callInMemory(plane.handle, {
      method,
      path,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.ended;
    answers.push(`${method} ${path} ${response.code} ${response.text()}`);
    return response.code;
  };
  const metadata = { generateName: 'made-' };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  for (let at = 0; at < 5; at++) {
    expect(await ask('POST', '/api/v1/namespaces/default/configmaps', { metadata, data: { at: `${at}` } })).toBe(201);
    await clock.advance(1_500);
  }
  expect(await ask('POST', '/api/v1/namespaces/default/pods', { metadata, spec })).toBe(201);
  expect(await ask('POST', '/api/v1/namespaces', { metadata: { name: 'later' } })).toBe(201);
  await clock.advance(10_000);
  expect(await ask('DELETE', '/api/v1/namespaces/later')).toBe(200);
  await clock.advance(10_000);
  for (const path of [
    '/api/v1/configmaps',
    '/api/v1/pods',
    '/api/v1/namespaces',
    '/api/v1/serviceaccounts',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ])
    expect(await ask('GET', path)).toBe(200);
  await plane.close();
  return answers;
}

test('two servers with the same seed and clock give the same uids, names and times', async () => {
  expect(await run('a')).toEqual(await run('a'));
});

test('another seed gives other uids and names', async () => {
  const [first] = await run('a');
  const [other] = await run('b');
  expect(other).not.toBe(first);
});
