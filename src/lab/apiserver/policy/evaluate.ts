/** Evaluates one policy for one request: its match conditions, validations and audit annotations. */

import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import { goQuote } from '../../../go/quote.js';
import type { AdmissionRequest } from '../admission.js';
import type { Authorizer } from '../attributes.js';
import { authorizerValue } from '../cel/functions/authorizer.js';
import { Meter } from '../cel/meter.js';
import { RunError } from '../cel/program.js';
import { dynamicValue } from '../cel/values.js';
import { apiVersionOf } from '../http/codec.js';
import type { Resource } from '../resource.js';
import type { CompiledPolicy, Expression, Variable } from './compiled-policy.js';
import { requestValue } from './request-type.js';

const maxMessageBytes = 5 * 1024;
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

export interface Denial {
  message: string;
  reason?: string;
  /** The index of the validation. */
  index: number;
}

export interface PolicyResult {
  denials: Denial[];
  annotations: { key: string; value: string }[];
  /** Audit annotations that could not be evaluated: they reject the request whatever the binding's actions. */
  faults: string[];
}

/** The cost limit of all match conditions of a policy together. */
const conditionUnits = 2_500_000;

/** The variables of one evaluation. */
export type Values = Record<string, unknown>;

export function valuesOf(
  request: AdmissionRequest,
  as: Resource,
  namespace: KubeObject | undefined,
  authorizer: Authorizer,
): Values {
  const { attributes } = request;
  const { user, resource, apiGroup, subresource, name } = attributes;
  const target = { apiGroup, resource, subresource, namespace: attributes.namespace, name };
  const seen = (object: KubeObject | undefined) =>
    object === undefined ? null : dynamicValue({ ...object, kind: as.kind, apiVersion: apiVersionOf(as) });
  return {
    object: seen(request.object),
    oldObject: seen(request.oldObject),
    namespaceObject: namespace === undefined ? null : dynamicValue(namespace),
    request: requestValue(request, as),
    authorizer: authorizerValue(authorizer, user, target),
  };
}

export function evaluate(
  policy: CompiledPolicy,
  shared: Values,
  params: KubeObject | undefined,
  clock: Pick<Clock, 'monotonic'>,
): PolicyResult {
  const meter = new Meter(clock);
  const values: Values = { ...shared, params: params === undefined ? null : dynamicValue(params) };
  values.variables = policy.variables.values((variable) => runVariable(variable, values, meter));
  const isLenient = policy.spec.failurePolicy === 'Ignore';
  const nothing: PolicyResult = { denials: [], annotations: [], faults: [] };
  try {
    if (!conditionsHold(policy, values, new Meter(clock, conditionUnits))) return nothing;
  } catch (error) {
    return isLenient ? nothing : { ...nothing, denials: [{ message: faultOf(error), index: 0 }] };
  }
  const denials: Denial[] = [];
  for (const [index, validation] of policy.validations.entries()) {
    try {
      if (run(validation, values, meter) === true) continue;
      const { reason = 'Invalid' } = validation.rule;
      denials.push({ message: messageOf(validation, values, meter), reason, index });
    } catch (error) {
      if (!isLenient) denials.push({ message: faultOf(error), index });
      if (error instanceof RunError && error.isOutOfBudget) break;
    }
  }
  return { denials, ...annotate(policy, values, meter, isLenient) };
}

/** False decides, even where another condition could not be evaluated. */
function conditionsHold(policy: CompiledPolicy, values: Values, meter: Meter): boolean {
  const faults: string[] = [];
  for (const condition of policy.matchConditions) {
    try {
      if (run(condition, values, meter) !== true) return false;
    } catch (error) {
      faults.push(faultOf(error));
    }
  }
  if (faults.length === 0) return true;
  throw new RunError(faults.length === 1 ? faults[0]! : `[${faults.join(', ')}]`);
}

function run(expression: Expression, values: Values, meter: Meter): unknown {
  if (expression.program === undefined) throw new RunError(`compilation error: ${expression.problem}`);
  try {
    return expression.program.run(values, meter);
  } catch (error) {
    if (!(error instanceof RunError) || error.isOutOfBudget) throw error;
    throw new RunError(`expression '${expression.source}' resulted in error: ${error.message}`);
  }
}

function runVariable({ name, program, problem }: Variable, values: Values, meter: Meter): unknown {
  const quoted = goQuote(name);
  if (program === undefined) throw new RunError(`composited variable ${quoted} fails to compile: ${problem}`);
  try {
    return program.run(values, meter);
  } catch (error) {
    if (!(error instanceof RunError) || error.isOutOfBudget) throw error;
    throw new RunError(`composited variable ${quoted} fails to evaluate: ${error.message}`);
  }
}

function faultOf(error: unknown): string {
  if (!(error instanceof RunError)) throw error;
  return error.isOutOfBudget ? outOfBudget : error.message;
}

function messageOf({ rule, message }: CompiledPolicy['validations'][number], values: Values, meter: Meter): string {
  const fallback = rule.message?.trim() || `failed expression: ${rule.expression.trim()}`;
  if (message === undefined) return fallback;
  try {
    const text = run(message, values, meter);
    const trimmed = typeof text === 'string' ? text.trim() : '';
    return trimmed === '' || trimmed.includes('\n') || Buffer.byteLength(trimmed) > maxMessageBytes
      ? fallback
      : trimmed;
  } catch (error) {
    if (error instanceof RunError && !error.isOutOfBudget) return fallback;
    throw error instanceof RunError ? new RunError(`failed messageExpression: ${outOfBudget}`) : error;
  }
}

function annotate(
  policy: CompiledPolicy,
  values: Values,
  meter: Meter,
  isLenient: boolean,
): Pick<PolicyResult, 'annotations' | 'faults'> {
  const annotations: PolicyResult['annotations'] = [];
  const faults: string[] = [];
  for (const annotation of policy.auditAnnotations) {
    try {
      const value = run(annotation, values, meter);
      if (typeof value === 'string' && value.trim() !== '')
        annotations.push({ key: annotation.key, value: value.trim() });
    } catch (error) {
      if (!isLenient) faults.push(faultOf(error));
    }
  }
  return { annotations, faults };
}
