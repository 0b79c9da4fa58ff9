/** Evaluates one policy for one request: its match conditions and validations. */

import type { KubeObject } from '../../../api/object.js';
import type { AdmissionRequest } from '../../../memory-api/admission.js';
import type { Authorizer } from '../../../memory-api/attributes.js';
import { RunError } from '../../../memory-api/cel/program.js';
import { dynamicValue } from '../../../memory-api/cel/values.js';
import { apiVersionOf } from '../../../memory-api/requests/codec.js';
import type { Resource } from '../../../memory-api/resource.js';
import { authorizerValue } from './authorizer.js';
import type { CompiledPolicy, Expression, Variable } from './compiled-policy.js';
import { requestValue } from './request-type.js';

const maxMessageBytes = 5 * 1024;

export interface Denial {
  message: string;
  reason?: string;
}

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

export function evaluate(policy: CompiledPolicy, shared: Values, params: KubeObject | undefined): Denial[] {
  const values: Values = { ...shared, params: params === undefined ? null : dynamicValue(params) };
  values.variables = policy.variables.values((variable) => runVariable(variable, values));
  const isLenient = policy.spec.failurePolicy === 'Ignore';
  try {
    if (!conditionsHold(policy, values)) return [];
  } catch (error) {
    return isLenient ? [] : [{ message: faultOf(error) }];
  }
  const denials: Denial[] = [];
  for (const validation of policy.validations) {
    try {
      if (run(validation, values) === true) continue;
      const { reason = 'Invalid' } = validation.rule;
      denials.push({ message: messageOf(validation, values), reason });
    } catch (error) {
      if (!isLenient) denials.push({ message: faultOf(error) });
    }
  }
  return denials;
}

/** False decides, even where another condition could not be evaluated. */
function conditionsHold(policy: CompiledPolicy, values: Values): boolean {
  const faults: string[] = [];
  for (const condition of policy.matchConditions) {
    try {
      if (run(condition, values) !== true) return false;
    } catch (error) {
      faults.push(faultOf(error));
    }
  }
  if (faults.length === 0) return true;
  throw new RunError(faults.join(', '));
}

function run({ program, problem, source }: Expression, values: Values): unknown {
  if (program === undefined) throw new RunError(`compilation error: ${problem}`);
  try {
    return program.run(values);
  } catch (error) {
    throw new RunError(`expression '${source}' resulted in error: ${faultOf(error)}`);
  }
}

function runVariable({ name, program, problem }: Variable, values: Values): unknown {
  if (program === undefined) throw new RunError(`variable '${name}' does not compile: ${problem}`);
  try {
    return program.run(values);
  } catch (error) {
    throw new RunError(`variable '${name}' cannot be evaluated: ${faultOf(error)}`);
  }
}

/** Throws errors that are not of the expression. */
function faultOf(error: unknown): string {
  if (!(error instanceof RunError)) throw error;
  return error.message;
}

function messageOf({ rule, message }: CompiledPolicy['validations'][number], values: Values): string {
  const fallback = rule.message?.trim() || `failed expression: ${rule.expression.trim()}`;
  if (message === undefined) return fallback;
  try {
    const text = String(run(message, values)).trim();
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > maxMessageBytes ? fallback : text;
  } catch (error) {
    faultOf(error);
    return fallback;
  }
}
