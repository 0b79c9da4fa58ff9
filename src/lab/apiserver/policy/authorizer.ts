/** `authorizer`: lets an expression check other permissions of the request's user. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import type { Attributes, Authorizer, Decision, User } from '../../../memory-api/attributes.js';

const prefix = 'kubernetes.authorization';

class AuthorizerValue {
  constructor(
    readonly user: User,
    readonly authorizer: Authorizer,
    /** The check for the resource of the request itself. */
    readonly requestResource: ResourceCheck,
  ) {}
}

class GroupCheck {
  constructor(
    readonly asker: AuthorizerValue,
    readonly group: string,
  ) {}
}

type CheckedObject = Pick<Attributes, 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name'>;

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
  const [group, resource, decision] = ['GroupCheck', 'ResourceCheck', 'Decision'].map((name) => `${prefix}.${name}`);
  environment
    .registerType(group!, GroupCheck)
    .registerType(resource!, ResourceCheck)
    .registerType(decision!, DecisionValue)
    .registerType(authorizerType, { ctor: AuthorizerValue, fields: { requestResource: resource! } })
    .registerFunction(
      `${authorizerType}.group(string): ${group}`,
      (asker: AuthorizerValue, name: string) => new GroupCheck(asker, name),
    )
    .registerFunction(
      `${group}.resource(string): ${resource}`,
      ({ asker, group: apiGroup }: GroupCheck, name: string) =>
        new ResourceCheck(asker, {
          apiGroup,
          resource: notEmpty(name),
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
    .registerFunction(`${resource}.check(string): ${decision}`, checkResource)
    .registerFunction(`${decision}.allowed(): bool`, (value: DecisionValue) => value.decision.allowed)
    .registerFunction(`${decision}.reason(): string`, (value: DecisionValue) => value.decision.reason ?? '')
    .registerFunction(`${decision}.errored(): bool`, () => false)
    .registerFunction(`${decision}.error(): string`, () => '');
}

function notEmpty(resource: string): string {
  if (resource.trim() === '') throw new EvaluationError('resource must not be empty');
  return resource;
}

function checkResource({ asker, target }: ResourceCheck, verb: string): DecisionValue {
  const attributes: Attributes = { ...target, user: asker.user, verb, isResource: true, path: '', apiVersion: '*' };
  return new DecisionValue(asker.authorizer.authorize(attributes));
}
