/**
 * The escalation check: a user who writes a role must have its rules (or the verb `escalate`), a user who binds one
 * must have them too (or the verb `bind`). Otherwise the permission to write roles would be the permission to do
 * everything.
 */

import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { nameOf, resourceOf } from '../../../memory-api/admission/rejection.js';
import type { Admission, AdmissionRequest } from '../../../memory-api/admission.js';
import type { Authorizer, User } from '../../../memory-api/attributes.js';
import { isSameJson } from '../../../memory-api/json-equality.js';
import { forbidden, notFound } from '../../../memory-api/status-error.js';
import { mastersGroup } from '../well-known.js';
import { uncovered } from './covers.js';
import { type PolicyRule, rulesOf } from './policy-rule.js';
import { type RbacAuthorizer, rbacGroup } from './rbac.js';

export function escalationCheck(rbac: RbacAuthorizer, authorizer: Authorizer): Admission {
  return {
    mutate(request) {
      const { resource, operation, object, attributes } = request;
      if (resource.group !== rbacGroup || object === undefined || operation === 'DELETE') return;
      if (attributes.user.groups.includes(mastersGroup)) return;
      if (resource.plural.endsWith('bindings')) checkBinding(request, object, rbac, authorizer);
      else checkRole(request, object, rbac, authorizer);
    },
    validate() {},
  };
}

function checkRole(request: AdmissionRequest, role: KubeObject, rbac: RbacAuthorizer, authorizer: Authorizer): void {
  const { oldObject } = request;
  if (oldObject !== undefined && isSameJson(rulesOf(role), rulesOf(oldObject))) return;
  if (may(request, authorizer, 'escalate', request.resource.plural, nameOf(request))) return;
  confirm(request, rulesOf(role), rbac);
}

function checkBinding(
  request: AdmissionRequest,
  binding: KubeObject,
  rbac: RbacAuthorizer,
  authorizer: Authorizer,
): void {
  const { oldObject, attributes } = request;
  const roleRef = (binding.roleRef ?? { kind: '', name: '' }) as { kind: string; name: string };
  const same = (field: string) => isSameJson(binding[field] ?? [], oldObject?.[field] ?? []);
  if (oldObject !== undefined && same('subjects') && same('roleRef')) return;
  if (may(request, authorizer, 'bind', roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles', roleRef.name)) return;
  let rules: PolicyRule[];
  try {
    rules = rbac.rulesOfRole(roleRef, attributes.namespace);
  } catch {
    // Without the verb bind, the rules of the role are needed.
    throw notFound(
      { group: rbacGroup, resource: roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles' },
      roleRef.name,
    );
  }
  confirm(request, rules, rbac);
}

function may(request: AdmissionRequest, authorizer: Authorizer, verb: string, resource: string, name: string): boolean {
  const { user, namespace } = request.attributes;
  return authorizer.authorize({
    ...{ user, verb, isResource: true, path: '', apiGroup: rbacGroup, apiVersion: '*' },
    ...{ resource, subresource: '', namespace, name },
  }).allowed;
}

function confirm(request: AdmissionRequest, rules: PolicyRule[], rbac: RbacAuthorizer): void {
  const { user, namespace } = request.attributes;
  const held = rbac.rulesFor(user, namespace);
  const missing = uncovered(held.rules, rules);
  if (missing.length === 0) return;
  throw forbidden(resourceOf(request), nameOf(request), grantText(user, missing, held.error));
}

function grantText(user: User, missing: PolicyRule[], error: string | undefined): string {
  const list = [...new Set(compact(missing).map(describe))].sort().join('\n');
  const text = `user ${quote(user.name)} (groups=${quoted(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${list}`;
  return error === undefined ? text : `${text}; resolution errors: [${error}]`;
}

/** Rules that differ only in their verb are reported as one. */
function compact(pieces: PolicyRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  for (const { verbs, ...what } of pieces) {
    const key = JSON.stringify(what.nonResourceURLs ? { ...what, verbs } : what);
    merged.set(key, { ...what, verbs: [...(merged.get(key)?.verbs ?? []), ...verbs] });
  }
  return [...merged.values()];
}

function describe({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts: [string, string[] | undefined][] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  return `{${parts.flatMap(([name, values]) => (values?.length ? [`${name}:${quoted(values)}`] : [])).join(', ')}}`;
}

const quoted = (values: string[]) => `[${values.map(quote).join(' ')}]`;
