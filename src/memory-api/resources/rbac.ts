/** Roles and bindings, of a namespace and of the cluster. Validation only; access/rbac.ts decides what they allow. */

import { checkDnsSubdomain, checkPathSegment } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { type FieldError, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import type { Column } from '../resource.js';
import { ageColumn, column, createdAtColumn, nameColumn, wideColumn } from './columns.js';
import { defineResource } from './define.js';

export const rbacGroup = 'rbac.authorization.k8s.io';

interface PolicyRule {
  verbs?: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

const subjectsOf = (binding: KubeObject) => (binding.subjects ?? []) as Subject[];
const roleRefOf = (binding: KubeObject) => binding.roleRef as RoleRef;

const shared = { group: rbacGroup, allowCreateOnUpdate: true, nameRule: checkPathSegment };
/** Without rules the stored list is null. */
function dropEmptyRules(role: KubeObject): void {
  if ((role.rules as unknown[] | null)?.length === 0) role.rules = null;
}

const roleColumns: Column[] = [nameColumn, createdAtColumn];
const bindingColumns: Column[] = [
  nameColumn,
  column('Role', 'What it grants.', (binding) => `${roleRefOf(binding).kind}/${roleRefOf(binding).name}`),
  ageColumn,
  wideColumn('Users', 'The users it grants it to.', (binding) => subjectNames(binding, 'User')),
  wideColumn('Groups', 'The groups it grants it to.', (binding) => subjectNames(binding, 'Group')),
  wideColumn('ServiceAccounts', 'The service accounts it grants it to.', (binding) =>
    subjectNames(binding, 'ServiceAccount'),
  ),
];

export const roles = defineResource({
  ...shared,
  kind: 'Role',
  plural: 'roles',
  revalidatesMeta: true,
  shape: 'rbac.v1.Role',
  namespaced: true,
  columns: roleColumns,
  rows: { mayBeNull: true },
  prepareForCreate: dropEmptyRules,
  prepareForUpdate: dropEmptyRules,
  validateCreate: (role) => validateRules(role, true),
  validateUpdate: (role) => validateRules(role, true),
});

export const clusterRoles = defineResource({
  ...shared,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  revalidatesMeta: true,
  shape: 'rbac.v1.ClusterRole',
  namespaced: false,
  columns: roleColumns,
  rows: { mayBeNull: true },
  prepareForCreate: dropEmptyRules,
  prepareForUpdate: dropEmptyRules,
  validateCreate: (role) => validateRules(role, false),
  validateUpdate: (role) => validateRules(role, false),
});

export const roleBindings = defineResource({
  ...shared,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  revalidatesMeta: true,
  shape: 'rbac.v1.RoleBinding',
  namespaced: true,
  columns: bindingColumns,
  setDefaults: setBindingDefaults,
  validateCreate: (binding) => validateBinding(binding, true),
  validateUpdate: (binding, old) => validateBindingUpdate(binding, old, true),
});

export const clusterRoleBindings = defineResource({
  ...shared,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  revalidatesMeta: true,
  shape: 'rbac.v1.ClusterRoleBinding',
  namespaced: false,
  columns: bindingColumns,
  setDefaults: setBindingDefaults,
  validateCreate: (binding) => validateBinding(binding, false),
  validateUpdate: (binding, old) => validateBindingUpdate(binding, old, false),
});

function validateBindingUpdate(binding: KubeObject, old: KubeObject, isNamespaced: boolean): FieldError[] {
  return [...validateBinding(binding, isNamespaced), ...validateSameRole(binding, old)];
}

function subjectNames(binding: KubeObject, kind: string): string {
  return subjectsOf(binding)
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
}

function setBindingDefaults(binding: KubeObject): void {
  if (roleRefOf(binding).apiGroup === '') roleRefOf(binding).apiGroup = rbacGroup;
  for (const subject of subjectsOf(binding)) {
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = rbacGroup;
  }
}

function validateRules(role: KubeObject, isNamespaced: boolean): FieldError[] {
  return ((role.rules ?? []) as PolicyRule[]).flatMap((rule, index) =>
    validateRule(rule, `rules[${index}]`, isNamespaced),
  );
}

function validateRule(rule: PolicyRule, path: string, isNamespaced: boolean): FieldError[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs: urls = [] } = rule;
  const errors: FieldError[] = [];
  if ((verbs ?? []).length === 0) errors.push(requiredField(`${path}.verbs`, 'verbs must contain at least one value'));
  if (urls.length > 0) {
    const complain = (detail: string) => errors.push(invalidField(`${path}.nonResourceURLs`, urls, detail));
    if (isNamespaced) complain('namespaced rules cannot apply to non-resource URLs');
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      complain('rules cannot apply to both regular resources and non-resource URLs');
    return errors;
  }
  const missing = (field: string, what: string) =>
    requiredField(`${path}.${field}`, `resource rules must supply at least one ${what}`);
  if (apiGroups.length === 0) errors.push(missing('apiGroups', 'api group'));
  if (resources.length === 0) errors.push(missing('resources', 'resource'));
  return errors;
}

function validateBinding(binding: KubeObject, isNamespaced: boolean): FieldError[] {
  const { apiGroup, kind, name } = roleRefOf(binding);
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return [
    ...(apiGroup === rbacGroup ? [] : [unsupportedField('roleRef.apiGroup', apiGroup, [rbacGroup])]),
    ...(kinds.includes(kind) ? [] : [unsupportedField('roleRef.kind', kind, kinds)]),
    ...(name === ''
      ? [requiredField('roleRef.name')]
      : checkPathSegment(name).map((message) => invalidField('roleRef.name', name, message))),
    ...subjectsOf(binding).flatMap((subject, index) => validateSubject(subject, `subjects[${index}]`, isNamespaced)),
  ];
}

function validateSubject(subject: Subject, path: string, isNamespaced: boolean): FieldError[] {
  const { kind, apiGroup = '', name, namespace = '' } = subject;
  const errors = name === '' ? [requiredField(`${path}.name`)] : [];
  if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== rbacGroup) errors.push(unsupportedField(`${path}.apiGroup`, apiGroup, [rbacGroup]));
  } else if (kind === 'ServiceAccount') {
    if (name !== '')
      errors.push(...checkDnsSubdomain(name).map((message) => invalidField(`${path}.name`, name, message)));
    if (apiGroup !== '') errors.push(unsupportedField(`${path}.apiGroup`, apiGroup, ['']));
    if (!isNamespaced && namespace === '') errors.push(requiredField(`${path}.namespace`));
  } else errors.push(unsupportedField(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  return errors;
}

function validateSameRole(binding: KubeObject, old: KubeObject): FieldError[] {
  return isEquivalent(binding.roleRef, old.roleRef)
    ? []
    : [invalidField('roleRef', roleRefOf(binding).name, 'cannot change roleRef')];
}
