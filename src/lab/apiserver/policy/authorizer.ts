/** `authorizer`: lets an expression check other permissions of the request's user. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { checkDnsLabel, checkDnsSubdomain } from '../../../api/names.js';
import type { Attributes, Authorizer, Decision, User } from '../../../memory-api/attributes.js';
import { parseFieldSelector } from '../../../memory-api/field-selector.js';

const prefix = 'kubernetes.authorization';

class AuthorizerValue {
  constructor(
    readonly user: User,
    readonly authorizer: Authorizer,
    /** The check for the resource of the request itself. */
    readonly requestResource: ResourceCheck | undefined,
  ) {}
}

class GroupCheck {
  constructor(
    readonly asker: AuthorizerValue,
    readonly group: string,
  ) {}
}

class PathCheck {
  constructor(
    readonly asker: AuthorizerValue,
    readonly path: string,
  ) {}
}

type CheckedObject = Pick<Attributes, 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name' | 'fieldSelector'>;

class ResourceCheck {
  constructor(
    readonly asker: Pick<AuthorizerValue, 'user' | 'authorizer'>,
    readonly target: CheckedObject,
  ) {}

  with(change: Partial<CheckedObject>): ResourceCheck {
    return new ResourceCheck(this.asker, { ...this.target, ...change });
  }
}

class DecisionValue {
  constructor(readonly decision: Decision) {}
}

/** The variable for one request. */
export function authorizerValue(authorizer: Authorizer, user: User, target: CheckedObject): unknown {
  return new AuthorizerValue(user, authorizer, new ResourceCheck({ user, authorizer }, target));
}

export const authorizerType = `${prefix}.Authorizer`;

export function declareAuthorizer(environment: Environment): void {
  const [group, path, resource, decision] = ['GroupCheck', 'PathCheck', 'ResourceCheck', 'Decision'].map(
    (name) => `${prefix}.${name}`,
  );
  environment
    .registerType(group!, GroupCheck)
    .registerType(path!, PathCheck)
    .registerType(resource!, ResourceCheck)
    .registerType(decision!, DecisionValue)
    .registerType(authorizerType, { ctor: AuthorizerValue, fields: { requestResource: resource! } })
    .registerFunction(
      `${authorizerType}.group(string): ${group}`,
      (asker: AuthorizerValue, name: string) => new GroupCheck(asker, name),
    )
    .registerFunction(
      `${authorizerType}.path(string): ${path}`,
      (asker: AuthorizerValue, text: string) => new PathCheck(asker, notEmpty('path', text)),
    )
    .registerFunction(`${authorizerType}.serviceAccount(string, string): ${authorizerType}`, serviceAccount)
    .registerFunction(
      `${group}.resource(string): ${resource}`,
      ({ asker, group: apiGroup }: GroupCheck, name: string) =>
        new ResourceCheck(asker, {
          apiGroup,
          resource: notEmpty('resource', name),
          subresource: '',
          namespace: '',
          name: '',
        }),
    )
    .registerFunction(`${resource}.subresource(string): ${resource}`, (check: ResourceCheck, subresource: string) =>
      check.with({ subresource }),
    )
    .registerFunction(`${resource}.namespace(string): ${resource}`, (check: ResourceCheck, namespace: string) =>
      check.with({ namespace }),
    )
    .registerFunction(`${resource}.name(string): ${resource}`, (check: ResourceCheck, name: string) =>
      check.with({ name }),
    )
    .registerFunction(`${resource}.fieldSelector(string): ${resource}`, withFieldSelector)
    // No authorizer uses labels.
    .registerFunction(`${resource}.labelSelector(string): ${resource}`, (check: ResourceCheck) => check)
    .registerFunction(`${resource}.check(string): ${decision}`, checkResource)
    .registerFunction(`${path}.check(string): ${decision}`, checkPath)
    .registerFunction(`${decision}.allowed(): bool`, (value: DecisionValue) => value.decision.allowed)
    .registerFunction(`${decision}.reason(): string`, (value: DecisionValue) => value.decision.reason ?? '')
    .registerFunction(`${decision}.errored(): bool`, () => false)
    .registerFunction(`${decision}.error(): string`, () => '');
}

function notEmpty(what: string, text: string): string {
  if (text.trim() === '') throw new EvaluationError(`${what} must not be empty`);
  return text;
}

function serviceAccount(
  { authorizer, requestResource }: AuthorizerValue,
  namespace: string,
  name: string,
): AuthorizerValue {
  for (const wrong of [checkDnsLabel(namespace), checkDnsSubdomain(name)])
    if (wrong.length > 0)
      throw new EvaluationError(`Invalid service account ${wrong === undefined ? '' : 'name or namespace'}`);
  const user = {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
  const target = requestResource?.target;
  return new AuthorizerValue(user, authorizer, target && new ResourceCheck({ user, authorizer }, target));
}

function withFieldSelector(check: ResourceCheck, text: string): ResourceCheck {
  try {
    return check.with({ fieldSelector: parseFieldSelector(text) });
  } catch {
    // As in Kubernetes: an invalid selector is ignored.
    return check;
  }
}

function checkResource({ asker, target }: ResourceCheck, verb: string): DecisionValue {
  const attributes: Attributes = { ...target, user: asker.user, verb, isResource: true, path: '', apiVersion: '*' };
  return new DecisionValue(asker.authorizer.authorize(attributes));
}

function checkPath({ asker, path }: PathCheck, verb: string): DecisionValue {
  const nothing = { apiGroup: '', apiVersion: '', resource: '', subresource: '', namespace: '', name: '' };
  const attributes: Attributes = { ...nothing, user: asker.user, verb: verb.toLowerCase(), isResource: false, path };
  return new DecisionValue(asker.authorizer.authorize(attributes));
}
