/**
 * The RBAC authorizer. Roles and bindings are kept in an index by subject, updated with every stored change, so that a
 * request looks only at the bindings of its own user and groups: with a role per node, thousands of bindings share a
 * namespace.
 */

import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import type { Attributes, Authorizer, Decision, User } from '../../../memory-api/attributes.js';
import { serviceAccountUserName } from '../well-known.js';
import { type PolicyRule, ruleAllows, rulesOf } from './policy-rule.js';

export const rbacGroup = 'rbac.authorization.k8s.io';

interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

interface RoleRef {
  kind: string;
  name: string;
}

interface Binding {
  name: string;
  /** Empty for a ClusterRoleBinding. */
  namespace: string;
  roleRef: RoleRef;
  subjects: Subject[];
}

/** Called for each rule that applies, and for each role that is missing; true stops. */
export interface RuleVisitor {
  rule(rule: PolicyRule, source: () => string): boolean;
  missing(reason: string): void;
}

export class RbacAuthorizer implements Authorizer {
  /** `namespace/name`, with an empty namespace for ClusterRoles. */
  private readonly roles = new Map<string, PolicyRule[]>();
  private readonly bindings = new Map<string, Binding>();
  /** namespace (empty: cluster) → subject → its bindings. */
  private readonly bySubject = new Map<string, Map<string, Set<Binding>>>();

  authorize(request: Attributes): Decision {
    const missing: string[] = [];
    let allowedBy: (() => string) | undefined;
    this.visit(request.user, request.namespace, {
      rule(rule, source) {
        if (!ruleAllows(rule, request)) return false;
        allowedBy = source;
        return true;
      },
      missing: (why) => missing.push(why),
    });
    if (allowedBy !== undefined) return allowed(allowedBy);
    return missing.length === 0 ? { allowed: false } : { allowed: false, reason: `RBAC: ${aggregate(missing)}` };
  }

  /** Every rule that applies to a user in a namespace, and what could not be found. */
  rulesFor(user: User, namespace: string): { rules: PolicyRule[]; error?: string } {
    const rules: PolicyRule[] = [];
    const missing: string[] = [];
    this.visit(user, namespace, {
      rule: (rule) => rules.push(rule) < 0,
      missing: (why) => missing.push(why),
    });
    return missing.length === 0 ? { rules } : { rules, error: aggregate(missing) };
  }

  /** The rules of a binding's roleRef; throws when there is no such role. */
  rulesOfRole(roleRef: RoleRef, namespace: string): PolicyRule[] {
    const cluster = roleRef.kind === 'ClusterRole';
    const rules = this.roles.get(key(cluster ? '' : namespace, roleRef.name));
    if (rules === undefined)
      throw new Error(`${cluster ? 'clusterrole' : 'role'}.${rbacGroup} ${quote(roleRef.name)} not found`);
    return rules;
  }

  /** Applies a stored change; `object` is undefined when it was deleted. Other resources are ignored. */
  apply(resource: string, namespace: string, name: string, object: KubeObject | undefined): void {
    const id = key(namespace, name);
    if (resource === 'roles' || resource === 'clusterroles') {
      if (object === undefined) this.roles.delete(id);
      else this.roles.set(id, rulesOf(object));
    } else if (resource === 'rolebindings' || resource === 'clusterrolebindings') {
      this.unindex(this.bindings.get(id));
      this.bindings.delete(id);
      if (object !== undefined) this.index(id, readBinding(object, namespace, name));
    }
  }

  private visit(user: User, namespace: string, visitor: RuleVisitor): void {
    const asked = [`User:${user.name}`, ...user.groups.map((group) => `Group:${group}`)];
    for (const scope of namespace === '' ? [''] : ['', namespace]) {
      const subjects = this.bySubject.get(scope);
      if (subjects === undefined) continue;
      const bindings = new Set(asked.flatMap((subject) => [...(subjects.get(subject) ?? [])]));
      for (const binding of bindings) if (this.visitBinding(binding, asked, visitor)) return;
    }
  }

  private visitBinding(binding: Binding, asked: string[], visitor: RuleVisitor): boolean {
    try {
      return this.rulesOfRole(binding.roleRef, binding.namespace).some((rule) =>
        visitor.rule(rule, () => describe(binding, asked)),
      );
    } catch (error) {
      visitor.missing((error as Error).message);
      return false;
    }
  }

  private index(id: string, binding: Binding): void {
    this.bindings.set(id, binding);
    const subjects = this.bySubject.get(binding.namespace) ?? new Map<string, Set<Binding>>();
    this.bySubject.set(binding.namespace, subjects);
    for (const subject of binding.subjects) {
      const name = subjectKey(subject, binding.namespace);
      const bindings = subjects.get(name) ?? new Set();
      subjects.set(name, bindings.add(binding));
    }
  }

  private unindex(binding: Binding | undefined): void {
    const subjects = binding && this.bySubject.get(binding.namespace);
    if (binding === undefined || subjects === undefined) return;
    for (const subject of binding.subjects) {
      const name = subjectKey(subject, binding.namespace);
      const bindings = subjects.get(name);
      bindings?.delete(binding);
      if (bindings?.size === 0) subjects.delete(name);
    }
    if (subjects.size === 0) this.bySubject.delete(binding.namespace);
  }
}

const key = (namespace: string, name: string) => `${namespace}/${name}`;

/** A service account is bound by its user name; without a namespace of its own it is the binding's. */
function subjectKey({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  return kind === 'ServiceAccount'
    ? `User:${serviceAccountUserName(namespace || bindingNamespace, name)}`
    : `${kind}:${name}`;
}

function readBinding(object: KubeObject, namespace: string, name: string): Binding {
  const roleRef = object.roleRef as RoleRef | undefined;
  const subjects = Array.isArray(object.subjects) ? (object.subjects as Subject[]) : [];
  return {
    name,
    namespace,
    roleRef: { kind: roleRef?.kind ?? '', name: roleRef?.name ?? '' },
    subjects: subjects.filter((subject) => typeof subject?.name === 'string' && typeof subject.kind === 'string'),
  };
}

/** Only the audit log and reviews read the reason. */
function allowed(by: () => string): Decision {
  return {
    allowed: true,
    get reason() {
      return `RBAC: allowed by ${by()}`;
    },
  };
}

function describe(binding: Binding, asked: string[]): string {
  const subject = binding.subjects.find((candidate) => asked.includes(subjectKey(candidate, binding.namespace)))!;
  const who =
    subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || binding.namespace}` : subject.name;
  const which =
    binding.namespace === ''
      ? `ClusterRoleBinding ${quote(binding.name)}`
      : `RoleBinding ${quote(`${binding.name}/${binding.namespace}`)}`;
  const { kind, name } = binding.roleRef;
  return `${which} of ${kind} ${quote(name)} to ${subject.kind} ${quote(who)}`;
}

/** Several errors as Go's aggregate prints them: each once, in brackets when there are more than one. */
function aggregate(errors: string[]): string {
  const unique = [...new Set(errors)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}
