/** The audit log: entries of requests that succeed, fail, impersonate or stream. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientOf } from '../../../../test/apiserver/client.js';
import { startApiServer } from '../apiserver.js';

const folder = mkdtempSync(join(tmpdir(), 'relet-audit-'));
const path = join(folder, 'audit.log');
// biome-ignore lint/suspicious/noExplicitAny: lines of every shape are looked into
let lines: any[];

beforeAll(async () => {
  const server = await startApiServer({ auditLogPath: path });
  const client = clientOf(server, 'http1');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { password: 'hunter2' } };
  const secrets = '/api/v1/namespaces/default/secrets';
  await client.call({ method: 'POST', path: secrets, body: secret, headers: { 'user-agent': 'tester/1' } });
  await client.call({ path: `${secrets}/missing?pretty=true` });
  await client.call({ path: `${secrets}/s`, headers: { 'impersonate-user': 'jane' } });
  const watch = await client.watch(`${secrets}?watch=1`);
  await watch.next();
  watch.close();
  await client.close();
  await server.close();
  lines = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a write is logged as one line with user, verb, time and code, but without content', () => {
  expect(lines[0]).toMatchObject({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/default/secrets',
    verb: 'create',
    user: { username: 'kubernetes-admin', groups: expect.arrayContaining(['system:masters']) },
    sourceIPs: [expect.stringMatching(/127\.0\.0\.1$/)],
    userAgent: 'tester/1',
    objectRef: { resource: 'secrets', namespace: 'default', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    annotations: { 'authorization.k8s.io/decision': 'allow' },
  });
  expect(lines[0].requestReceivedTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(new Set(lines.map(({ auditID }) => auditID)).size).toBe(4);
  expect(readFileSync(path, 'utf8')).not.toContain('hunter2');
});

test('a failed request is logged with its reason', () => {
  expect(lines[1]).toMatchObject({
    requestURI: '/api/v1/namespaces/default/secrets/missing?pretty=true',
    responseStatus: { status: 'Failure', reason: 'NotFound', code: 404, message: 'secrets "missing" not found' },
  });
});

test('impersonation is logged with both users', () => {
  expect(lines[2]).toMatchObject({
    user: { username: 'kubernetes-admin' },
    impersonatedUser: { username: 'jane' },
    responseStatus: { code: 403 },
    annotations: { 'authorization.k8s.io/decision': 'forbid' },
  });
});

test('a watch is logged when it begins and when it ends', () => {
  const watches = lines.filter(({ verb }) => verb === 'watch');
  expect(watches.map(({ stage }) => stage)).toEqual(['ResponseStarted', 'ResponseComplete']);
  expect(watches[0].auditID).toBe(watches[1].auditID);
});

test('the audit log is readable by its owner only, and a path that cannot be written fails the start', async () => {
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const nowhere = join(folder, 'no', 'such', 'folder', 'audit.log');
  await expect(startApiServer({ auditLogPath: nowhere })).rejects.toThrow(/open audit log .*is its directory there/);
});
