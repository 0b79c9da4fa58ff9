/** ValidatingAdmissionPolicies: variables, actions and matching. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import type { BindingSpec, PolicySpec } from '../../src/memory-api/resources/admission-policy.js';
import { temporaryDir } from '../temporary-dir.js';
import { type Client, clientOf } from './client.js';

const group = '/apis/admissionregistration.k8s.io/v1';
let server: ApiServer;
let client: Client;
let count = 0;
let namespace: string;

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'socket');
});
afterAll(async () => {
  await client.close();
  await server.close();
});
beforeEach(async () => {
  namespace = `policies-${count++}`;
  for (const resource of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    await client.call({ method: 'DELETE', path: `${group}/${resource}` });
  await post('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: namespace, labels: { team: 'a' } } });
});

function post(path: string, body: object, headers: Record<string, string> = {}) {
  const apiVersion = path
    .split('/')
    .slice(2, path.startsWith('/api/') ? 3 : 4)
    .join('/');
  return client.call({ method: 'POST', path, body: { apiVersion, ...body }, headers });
}

const configMapRules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['*'] }];

async function guard(spec: PolicySpec, binding: BindingSpec = {}, name = 'guard') {
  const { matchConstraints, ...rest } = spec;
  const policy = await post(`${group}/validatingadmissionpolicies`, {
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: { resourceRules: configMapRules, ...matchConstraints }, ...rest },
  });
  expect(policy.json).toMatchObject({ kind: 'ValidatingAdmissionPolicy' });
  const bound = await post(`${group}/validatingadmissionpolicybindings`, {
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `${name}-everywhere` },
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  });
  expect(bound.json).toMatchObject({ kind: 'ValidatingAdmissionPolicyBinding' });
}

const maps = () => `/api/v1/namespaces/${namespace}/configmaps`;
const createMap = (data: Record<string, string> = {}, metadata: object = {}, headers: Record<string, string> = {}) =>
  post(maps(), { kind: 'ConfigMap', metadata: { name: 'map', ...metadata }, data }, headers);
const patchMap = (body: object) =>
  client.call({
    method: 'PATCH',
    path: `${maps()}/map`,
    body,
    headers: { 'content-type': 'application/merge-patch+json' },
  });
const deleteMap = () => client.call({ method: 'DELETE', path: `${maps()}/map` });
/** The only validation of a policy. */
const rule = (expression: string, more: object = {}) => ({ validations: [{ expression, ...more }] });

describe('a denial', () => {
  test('a denial has the message of Kubernetes', async () => {
    await guard(rule("object.data.colour == 'red'", { message: 'only red will do' }));
    expect((await createMap({ colour: 'red' })).code).toBe(201);
    const message =
      "ValidatingAdmissionPolicy 'guard' with binding 'guard-everywhere' denied request: only red will do";
    expect((await patchMap({ data: { colour: 'blue' } })).json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `configmaps "map" is forbidden: ${message}`,
      reason: 'Invalid',
      details: { name: 'map', kind: 'configmaps', causes: [{ message }] },
      code: 422,
    });
    expect((await client.call({ path: `${maps()}/map` })).json.data).toEqual({ colour: 'red' });
  });

  test.each([
    ['its reason', { reason: 'Forbidden' }, 403, 'Forbidden', 'failed expression: false'],
    ['its messageExpression', { messageExpression: "'no ' + object.metadata.name" }, 422, 'Invalid', 'no map'],
    [
      'its message where the messageExpression fails',
      { message: 'said so', messageExpression: 'object.metadata.nothing.here' + ' == null ? "a" : "b"' },
      422,
      'Invalid',
      'said so',
    ],
  ])('a denial is reported with %s', async (_name, more, code, reason, message) => {
    await guard(rule('false', more));
    const { json } = await createMap();
    expect(json).toMatchObject({ code, reason });
    expect(json.message).toContain(`denied request: ${message}`);
  });

  test('a denial is a warning with the action Warn', async () => {
    await guard(rule('false', { message: 'better not' }), { validationActions: ['Warn'] });
    const made = await createMap();
    expect(made.code).toBe(201);
    expect(made.headers.warning).toBe(
      `299 - "Validation failed for ValidatingAdmissionPolicy 'guard' with binding 'guard-everywhere': better not"`,
    );
  });

  test('a failing expression denies, unless failurePolicy is Ignore', async () => {
    await guard(rule("object.data.missing == 'x'"));
    expect((await createMap()).json.message).toContain(
      "denied request: expression 'object.data.missing == 'x'' resulted in error: No such key: data",
    );
    await client.call({ method: 'DELETE', path: `${group}/validatingadmissionpolicies/guard` });
    await guard({ ...rule("object.data.missing == 'x'"), failurePolicy: 'Ignore' }, {}, 'lenient');
    expect((await createMap()).code).toBe(201);
  });

  test('a denial applies to dry runs too', async () => {
    await guard(rule('!request.dryRun', { message: 'dry' }));
    const dry = await client.call({
      method: 'POST',
      path: `${maps()}?dryRun=All`,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'map' } },
    });
    expect(dry.code).toBe(422);
    expect((await createMap()).code).toBe(201);
  });
});

describe('variables of a policy', () => {
  const as = { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters', 'impersonate-extra-scopes': 'view' };

  test.each([
    ['who asks', "request.userInfo.username == 'jane' && 'system:masters' in request.userInfo.groups"],
    ['extra fields of the user', "request.userInfo.extra['scopes'] == ['view']"],
    [
      'what is asked',
      "request.operation == 'CREATE' && request.name == 'map' && request.namespace.startsWith('polic')",
    ],
    ['the kind and the resource', "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'"],
    ['no subresource for the object itself', '!has(request.subResource)'],
    ['the options', "request.options.kind == 'CreateOptions' && !request.dryRun"],
    [
      'the object, and no old object on create',
      "object.kind == 'ConfigMap' && object.data.size() == 1 && oldObject == null",
    ],
    ['the namespace', "namespaceObject.metadata.labels['team'] == 'a'"],
    ['other permissions of the user', "authorizer.group('').resource('secrets').namespace('x').check('get').allowed()"],
    ['permission of the user for the request itself', "authorizer.requestResource.check('create').allowed()"],
  ])('%s', async (_name, expression) => {
    await guard(rule(expression));
    expect((await createMap({ k: 'v' }, {}, as)).json).toMatchObject({ kind: 'ConfigMap' });
    await guard(rule(`!(${expression})`), {}, 'opposite');
    const { json } = await createMap({ k: 'v' }, {}, as);
    expect(json.message).toContain("'opposite'");
    expect(json.message).toContain('denied request: failed expression');
  });

  test('a policy gets oldObject on update, and only that on delete', async () => {
    await createMap({ k: 'old' });
    await guard(rule("oldObject.data.k == 'old' && (request.operation != 'DELETE' || object == null)"));
    expect((await patchMap({ data: { k: 'new' } })).code).toBe(200);
    expect((await deleteMap()).json.message).toContain('denied request');
    await patchMap({ data: { k: 'old' } });
  });

  test('variables of a policy are evaluated when they are used', async () => {
    await guard({
      variables: [
        { name: 'data', expression: "has(object.data) ? object.data : dyn({'none': 'none'})" },
        { name: 'size', expression: 'size(variables.data)' },
        { name: 'broken', expression: 'object.nowhere' },
      ],
      ...rule("variables.size == 1 || variables.broken == ''", {
        messageExpression: "'has ' + string(variables.size)",
      }),
    });
    expect((await createMap({ a: '1' })).json).toMatchObject({ kind: 'ConfigMap' });
    expect((await patchMap({ data: { b: '2' } })).json.message).toContain(
      `resulted in error: variable 'broken' cannot be evaluated: No such key: nowhere`,
    );
  });

  test('a policy gets parameters from another object', async () => {
    await guard(
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: { resourceRules: [{ ...configMapRules[0]!, resourceNames: ['map'] }] },
        ...rule('size(object.data) <= int(params.data.max)', { messageExpression: "'at most ' + params.data.max" }),
      },
      { paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' } },
    );
    expect((await createMap({ a: '1' })).json.message).toContain(
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    );
    await createMap({ max: '1' }, { name: 'limits' });
    expect((await createMap({ a: '1', b: '2' })).json.message).toContain('denied request: at most 1');
    expect((await createMap({ a: '1' })).code).toBe(201);
  });
});

describe('a policy does not apply', () => {
  test.each<[string, PolicySpec['matchConstraints'] & object]>([
    ['to other resources', { resourceRules: [{ ...configMapRules[0]!, resources: ['secrets'] }] }],
    ['to other operations', { resourceRules: [{ ...configMapRules[0]!, operations: ['DELETE'] }] }],
    ['about other names', { resourceRules: [{ ...configMapRules[0]!, resourceNames: ['other'] }] }],
    ['to excluded resources', { excludeResourceRules: configMapRules }],
    [
      'to objects, where only subresources match',
      { resourceRules: [{ ...configMapRules[0]!, resources: ['configmaps/status'] }] },
    ],
    ['to cluster-scoped objects', { resourceRules: [{ ...configMapRules[0]!, scope: 'Cluster' }] }],
    ['in other namespaces', { namespaceSelector: { matchLabels: { team: 'b' } } }],
    ['to objects without its labels', { objectSelector: { matchExpressions: [{ key: 'x', operator: 'Exists' }] } }],
  ])('%s', async (_name, matchConstraints) => {
    await guard({ matchConstraints, ...rule('false') });
    expect((await createMap()).code).toBe(201);
  });

  test('a policy does not apply where a match condition is false, even if another fails', async () => {
    const matchConditions = [
      { name: 'fails', expression: 'object.nowhere == 1' },
      { name: 'others', expression: "request.userInfo.username == 'somebody else'" },
    ];
    await guard({ matchConditions, ...rule('false') });
    expect((await createMap()).code).toBe(201);
  });

  test('a policy does not apply where its binding does not match', async () => {
    await guard(rule('false'), { matchResources: { namespaceSelector: { matchLabels: { team: 'b' } } } });
    expect((await createMap()).code).toBe(201);
  });

  test('a policy does not apply without a binding, or after it is deleted', async () => {
    await guard(rule('false'));
    await client.call({ method: 'DELETE', path: `${group}/validatingadmissionpolicybindings/guard-everywhere` });
    expect((await createMap()).code).toBe(201);
  });

  test('policies do not apply to policies', async () => {
    await guard({
      matchConstraints: {
        resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }],
      },
      ...rule('false'),
    });
    expect((await createMap()).code).toBe(422);
    const gone = await client.call({ method: 'DELETE', path: `${group}/validatingadmissionpolicies/guard` });
    expect(gone.code).toBe(200);
    expect((await createMap()).code).toBe(201);
  });
});

test('removing a label does not bypass a policy', async () => {
  await createMap({}, { labels: { guarded: 'yes' } });
  await guard({
    matchConstraints: { objectSelector: { matchLabels: { guarded: 'yes' } } },
    ...rule('false'),
  });
  expect((await patchMap({ metadata: { labels: { guarded: null } } })).code).toBe(422);
  expect((await deleteMap()).code).toBe(422);
});

test('another version of the same resource does not bypass a policy', async () => {
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  });
  const plural = `sprockets-${count}`;
  await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural, kind: `Sprocket${count}` },
      versions: [version('v1', true), version('v2', false)],
    },
  });
  const resourceRules = [{ apiGroups: ['example.com'], apiVersions: ['v1'], resources: [plural], operations: ['*'] }];
  await guard({ matchConstraints: { resourceRules }, ...rule("object.apiVersion != 'example.com/v1'") });
  const make = () => post(`/apis/example.com/v2/${plural}`, { kind: `Sprocket${count}`, metadata: { name: 'a' } });
  expect((await make()).code).toBe(422);
});

describe('a policy is rejected', () => {
  test.each<[string, PolicySpec, string]>([
    [
      'for an expression that does not compile',
      rule('object.x in [1, 2, '),
      'spec.validations[0].expression: Invalid value: "object.x in [1, 2, ": compilation failed',
    ],
    [
      'for a result that is not a bool',
      rule('object.x'),
      'spec.validations[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
    ],
    ['for parameters that it does not declare', rule('params.x == 1'), 'compilation failed: Unknown variable: params'],
    [
      'for a variable that comes later',
      {
        variables: [
          { name: 'a', expression: 'variables.b' },
          { name: 'b', expression: '1' },
        ],
        ...rule('true'),
      },
      'spec.variables[0].expression: Invalid value: "variables.b": compilation failed',
    ],
    ['for a field that requests do not have', rule('request.foo == 1'), 'compilation failed: No such key: foo'],
    ['without validations', {}, 'spec.validations: Required value'],
    [
      'without resources',
      { matchConstraints: { resourceRules: [] }, ...rule('true') },
      'spec.matchConstraints.resourceRules: Required value',
    ],
  ])('%s', async (_name, spec, message) => {
    const { matchConstraints, ...rest } = spec;
    const { code, json } = await post(`${group}/validatingadmissionpolicies`, {
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'guard' },
      spec: { matchConstraints: { resourceRules: configMapRules, ...matchConstraints }, ...rest },
    });
    expect(code).toBe(422);
    expect(json.message).toContain(message);
  });
});

test('a policy gets defaults and applies at once', async () => {
  await guard(rule('true'));
  const { json } = await client.call({ path: `${group}/validatingadmissionpolicies/guard` });
  expect(json).toMatchObject({
    metadata: { generation: 1 },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
    },
  });
  const changed = await client.call({
    method: 'PATCH',
    path: `${group}/validatingadmissionpolicies/guard`,
    body: { spec: { validations: [{ expression: 'false' }] } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  expect(changed.json).toMatchObject({ metadata: { generation: 2 } });
  expect((await createMap()).code).toBe(422);
});

test('a policy applies after a restart', async () => {
  const dataDir = temporaryDir();
  const [here, there] = [server, client];
  const restart = async () => {
    server = await startApiServer({ dataDir });
    client = clientOf(server, 'memory');
  };
  try {
    await restart();
    await guard(rule('false', { message: 'still here' }));
    await server.close();
    await restart();
    namespace = 'default';
    expect((await createMap()).json.message).toContain('still here');
    await server.close();
  } finally {
    [server, client] = [here, there];
  }
});
