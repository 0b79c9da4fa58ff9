/** Whether a policy or a binding matches a request, and the version in which it gets the object. */

import { type LabelSelectorObject, selectsLabels } from '../../../api/label-selector.js';
import type { KubeObject } from '../../../api/object.js';
import { nameOf } from '../../../memory-api/admission/rejection.js';
import type { AdmissionRequest } from '../../../memory-api/admission.js';
import type { Registry } from '../../../memory-api/registry.js';
import type { Resource } from '../../../memory-api/resource.js';
import type { MatchResources, ResourceRule } from '../../../memory-api/resources/admission-policy.js';

export interface MatchContext {
  registry: Registry;
  /** The namespace of the object; undefined for cluster-scoped ones. */
  namespace(): KubeObject | undefined;
}

/** Undefined if it does not match. */
export function matchRequest(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  context: MatchContext,
): Resource | undefined {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match ?? {};
  if (!inNamespace(match?.namespaceSelector, request, context)) return undefined;
  if (!ofObject(match?.objectSelector, request)) return undefined;
  const isExact = matchPolicy === 'Exact';
  if (matchRules(excludeResourceRules, request, isExact, context) !== undefined) return undefined;
  return resourceRules.length === 0 ? request.resource : matchRules(resourceRules, request, isExact, context);
}

function inNamespace(
  selector: LabelSelectorObject | undefined,
  request: AdmissionRequest,
  context: MatchContext,
): boolean {
  if (selector === undefined || isEmptySelector(selector)) return true;
  const { resource, object, oldObject } = request;
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  if (isNamespace) return selectsLabels(selector, (object ?? oldObject)?.metadata.labels);
  const namespace = context.namespace();
  return namespace === undefined || selectsLabels(selector, namespace.metadata.labels);
}

/** Removing a label does not bypass a policy: old and new object are matched. */
function ofObject(selector: LabelSelectorObject | undefined, { object, oldObject }: AdmissionRequest): boolean {
  if (selector === undefined || isEmptySelector(selector)) return true;
  return [object, oldObject].some((seen) => seen !== undefined && selectsLabels(selector, seen.metadata.labels));
}

function matchRules(
  rules: ResourceRule[],
  request: AdmissionRequest,
  isExact: boolean,
  { registry }: MatchContext,
): Resource | undefined {
  const { resource } = request;
  if (rules.some((rule) => matchesRule(rule, request, resource))) return resource;
  if (isExact || rules.length === 0) return undefined;
  // The same objects in another version: writes through it must not bypass the policy.
  const others = registry
    .all()
    .filter(
      ({ group, plural, version }) =>
        group === resource.group && plural === resource.plural && version !== resource.version,
    );
  return others.find((other) => rules.some((rule) => matchesRule(rule, request, other)));
}

function matchesRule(rule: ResourceRule, request: AdmissionRequest, as: Resource): boolean {
  const { operations = [], apiVersions = [], resourceNames = [], scope = '*' } = rule;
  return (
    has(operations, request.operation) &&
    has(apiVersions, as.version) &&
    isAbout(rule, as, request.attributes.subresource) &&
    (scope === '*' || scope === (as.namespaced ? 'Namespaced' : 'Cluster')) &&
    (resourceNames.length === 0 || resourceNames.includes(nameOf(request)))
  );
}

/** Matches only the group and the resource of a rule, which do not depend on the request's object. */
export function mayBeAbout({ apiGroups = [], resources = [] }: ResourceRule, group: string, plural: string): boolean {
  return (
    has(apiGroups, group) &&
    has(
      resources.map((name) => name.split('/')[0]!),
      plural,
    )
  );
}

function isAbout(
  { apiGroups = [], resources = [] }: ResourceRule,
  { group, plural }: Resource,
  subresource: string,
): boolean {
  return (
    has(apiGroups, group) &&
    resources.some((name) => {
      const [resource = '', part = ''] = name.split('/');
      return (resource === '*' || resource === plural) && (part === '*' || part === subresource);
    })
  );
}

const has = (list: string[], value: string) => list.includes('*') || list.includes(value);

function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
