/**
 * ValidatingAdmissionPolicy: evaluates every bound policy that matches a request. Policies are compiled when they are
 * written and indexed by resource: a request that no policy matches costs one map lookup.
 */

import type { KubeObject } from '../../../api/object.js';
import { type Objects, rejection } from '../../../memory-api/admission/rejection.js';
import type { Admission, AdmissionRequest } from '../../../memory-api/admission.js';
import type { Authorizer } from '../../../memory-api/attributes.js';
import {
  type BindingSpec,
  bindingPlural,
  bindingSpec,
  policyGroup,
  policyPlural,
} from '../../../memory-api/resources/admission-policy.js';
import type { Collection, Store } from '../../../memory-api/store/store.js';
import { type CompiledPolicy, compilePolicy } from './compiled-policy.js';
import { type Denial, evaluate, type Values, valuesOf } from './evaluate.js';
import { type MatchContext, matchRequest, mayBeAbout } from './match.js';
import { collectParams, Misconfigured, type Places, paramResource } from './params.js';

export interface PolicyOptions extends Places {
  authorizer: Authorizer;
  objects: Objects;
}

export interface Policies extends Admission {
  /** Ends the watches of the store. */
  stop(): void;
}

interface Binding {
  name: string;
  spec: BindingSpec;
}

interface Bound {
  policy: CompiledPolicy;
  bindings: Binding[];
}

/** Why a request is rejected, and by which policy. */
interface Rejection extends Denial {
  policy: string;
  binding?: string;
}

const codes: Record<string, number> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

export function validatingPolicies(options: PolicyOptions): Policies {
  const index = new PolicyIndex(options.store);
  return {
    mutate() {},
    validate(request) {
      const bound = index.about(request);
      if (bound.length > 0) dispatch(options, request, bound);
    },
    stop: () => index.stop(),
  };
}

class PolicyIndex {
  readonly #policies = new Map<string, CompiledPolicy>();
  readonly #bindings = new Map<string, Binding>();
  /** By group and resource; built on first use. */
  readonly #about = new Map<string, Bound[]>();
  readonly #stops: (() => void)[];

  constructor(store: Store) {
    this.#stops = [
      follow(store, policyPlural, (name, policy) => change(this.#policies, name, policy && compilePolicy(policy))),
      follow(store, bindingPlural, (name, binding) =>
        change(this.#bindings, name, binding && { name, spec: bindingSpec(binding) }),
      ),
    ].map((start) => start(() => this.#about.clear()));
  }

  about({ resource: { group, plural } }: AdmissionRequest): Bound[] {
    if (this.#bindings.size === 0 || this.#policies.size === 0) return none;
    // Policies do not apply to policies, so that a wrong one can always be removed.
    if (group === policyGroup && (plural === policyPlural || plural === bindingPlural)) return none;
    const key = `${group}/${plural}`;
    const known = this.#about.get(key) ?? this.#find(group, plural);
    this.#about.set(key, known);
    return known;
  }

  #find(group: string, plural: string): Bound[] {
    const bindings = [...this.#bindings.values()].sort(byName);
    return [...this.#policies.values()]
      .filter(({ spec }) =>
        (spec.matchConstraints?.resourceRules ?? []).some((rule) => mayBeAbout(rule, group, plural)),
      )
      .sort(byName)
      .map((policy) => ({ policy, bindings: bindings.filter(({ spec }) => spec.policyName === policy.name) }))
      .filter((bound) => bound.bindings.length > 0);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }
}

const none: Bound[] = [];
const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

function change<T>(map: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) map.delete(name);
  else map.set(name, value);
}

function follow(store: Store, resource: string, apply: (name: string, object: KubeObject | undefined) => void) {
  const collection: Collection = { group: policyGroup, resource };
  const parse = (bytes: Buffer) => JSON.parse(bytes.toString('utf8')) as KubeObject;
  return (changed: () => void) => {
    for (const { key, bytes } of store.list(collection).items) apply(key.name, parse(bytes));
    return store.subscribe(collection, ({ type, key, bytes }) => {
      apply(key.name, type === 'deleted' ? undefined : parse(bytes));
      changed();
    });
  };
}

function dispatch(options: PolicyOptions, request: AdmissionRequest, all: Bound[]): void {
  const context = contextOf(options, request);
  const rejections: Rejection[] = [];
  for (const bound of all) rejections.push(...ask(options, request, context, bound));
  const [first] = rejections;
  if (first === undefined) return;
  const { policy, binding, reason = 'Invalid' } = first;
  const by = binding === undefined ? `'${policy}'` : `'${policy}' with binding '${binding}'`;
  const message = `ValidatingAdmissionPolicy ${by} denied request: ${first.message}`;
  const error = rejection(request, message);
  error.status.reason = reason;
  error.status.code = codes[reason] ?? 422;
  error.status.details = { ...error.status.details, causes: [...(error.status.details?.causes ?? []), { message }] };
  throw error;
}

function contextOf({ registry, objects }: PolicyOptions, { attributes, resource }: AdmissionRequest): MatchContext {
  let found: KubeObject | undefined;
  return {
    registry,
    namespace() {
      if (!resource.namespaced) return undefined;
      found ??= objects.find({ group: '', resource: 'namespaces', namespace: '', name: attributes.namespace });
      return found;
    },
  };
}

function ask(
  options: PolicyOptions,
  request: AdmissionRequest,
  context: MatchContext,
  { policy, bindings }: Bound,
): Rejection[] {
  const as = matchRequest(policy.spec.matchConstraints, request, context);
  if (as === undefined) return [];
  const rejections: Rejection[] = [];
  let values: Values | undefined;
  let params: ReturnType<typeof paramResource>;
  try {
    params = paramResource(options, policy.spec);
  } catch (error) {
    return misconfigured(error, policy, 'failed to configure policy');
  }
  for (const binding of bindings) {
    if (matchRequest(binding.spec.matchResources, request, context) === undefined) continue;
    try {
      const objects = collectParams(options, params, binding.spec.paramRef, request.attributes.namespace);
      for (const object of objects) {
        values ??= valuesOf(request, as, context.namespace(), options.authorizer);
        rejections.push(...carryOut(request, policy, binding, evaluate(policy, values, object)));
      }
    } catch (error) {
      rejections.push(...misconfigured(error, policy, 'failed to configure binding', binding.name));
    }
  }
  return rejections;
}

function misconfigured(error: unknown, { name, spec }: CompiledPolicy, doing: string, binding?: string): Rejection[] {
  if (!(error instanceof Misconfigured)) throw error;
  if (spec.failurePolicy === 'Ignore') return [];
  return [{ policy: name, ...(binding === undefined ? {} : { binding }), message: `${doing}: ${error.message}` }];
}

/** The binding's actions for a denial: reject, or warn. */
function carryOut(
  request: AdmissionRequest,
  { name: policy }: CompiledPolicy,
  { name: binding, spec }: Binding,
  denials: Denial[],
): Rejection[] {
  const actions = spec.validationActions ?? [];
  if (actions.includes('Warn'))
    for (const { message } of denials)
      request.warn(`Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`);
  return actions.includes('Deny') ? denials.map((denial) => ({ ...denial, policy, binding })) : [];
}
