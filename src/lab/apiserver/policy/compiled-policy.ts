/** A policy with compiled expressions, each with its problem where it has one. */
import type { Environment } from '@marcbachmann/cel-js';
import type { KubeObject } from '../../../api/object.js';
import { CompileError, compile, newEnvironment, type Program } from '../../../memory-api/cel/program.js';
import { type PolicySpec, policySpec, type Validation } from '../../../memory-api/resources/admission-policy.js';
import { authorizerType, declareAuthorizer } from './authorizer.js';
import { requestType } from './request-type.js';

/** An expression of a policy; without a program it always fails, with `problem`. */
export interface Expression {
  source: string;
  program?: Program;
  problem?: string;
}

export interface CompiledPolicy {
  name: string;
  spec: PolicySpec;
  matchConditions: Expression[];
  variables: Variables;
  validations: (Expression & { rule: Validation; message?: Expression })[];
}

/** By name and spec. A policy is compiled when it is validated and when it is stored; simulations store the same ones again and again. */
const compiled = new Map<string, CompiledPolicy>();
const mostCompiled = 100;

export function compilePolicy(policy: KubeObject): CompiledPolicy {
  const key = JSON.stringify([policy.metadata.name, policy.spec]);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  if (compiled.size >= mostCompiled) compiled.clear();
  const made = compileNew(policy);
  compiled.set(key, made);
  return made;
}

function compileNew(policy: KubeObject): CompiledPolicy {
  const spec = policySpec(policy);
  const hasParams = spec.paramKind !== undefined;
  const variables = new Variables();
  const withVariables = (environment: Environment) => variables.declare(environment);
  for (const { name, expression } of spec.variables ?? [])
    variables.all.push({ name, ...compileOne(environmentOf(hasParams, true, withVariables), expression) });
  const full = environmentOf(hasParams, true, withVariables);
  const withoutAuthorizer = environmentOf(hasParams, false, withVariables);
  const conditions = environmentOf(hasParams, true, () => {});
  return {
    name: policy.metadata.name,
    spec,
    matchConditions: (spec.matchConditions ?? []).map(({ expression }) => compileOne(conditions, expression, 'bool')),
    variables,
    validations: (spec.validations ?? []).map((rule) => ({
      rule,
      ...compileOne(full, rule.expression, 'bool'),
      ...(rule.messageExpression && { message: compileOne(withoutAuthorizer, rule.messageExpression, 'string') }),
    })),
  };
}

function environmentOf(hasParams: boolean, hasAuthorizer: boolean, declare: (to: Environment) => void): Environment {
  const environment = newEnvironment();
  requestType.declare(environment);
  declareAuthorizer(environment);
  declare(environment);
  environment
    .registerVariable('object', 'dyn')
    .registerVariable('oldObject', 'dyn')
    // Null for cluster-scoped objects: the checker must accept that.
    .registerVariable('namespaceObject', 'dyn')
    .registerVariable('request', requestType.name);
  if (hasParams) environment.registerVariable('params', 'dyn');
  if (hasAuthorizer) environment.registerVariable('authorizer', authorizerType);
  return environment;
}

/** `type`: the type that its result must have. Default any. */
function compileOne(environment: Environment, source: string, type?: string): Expression {
  try {
    const program = compile(environment, source);
    if (type === undefined || program.type === type) return { source, program };
    return { source, problem: `must evaluate to ${type} but got ${program.type}` };
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return { source, problem: `compilation failed: ${error.message}` };
  }
}

/** A variable of a policy. */
export type Variable = Expression & { name: string };

const variablesType = 'kubernetes.variables';

/**
 * The value `variables` of a policy: a type with one field for each, evaluated when it is read. It grows while the
 * policy is compiled: each variable may use those before it.
 */
export class Variables {
  readonly all: Variable[] = [];
  // One class for all: the checker recognizes the value by it, whichever variables there were when an expression was
  // compiled.
  readonly #Value = lazyValues((name) => this.all.find((variable) => variable.name === name));

  /** Declares the variables so far. */
  declare(environment: Environment): void {
    const fields = Object.fromEntries(this.all.map(({ name, program }) => [name, program?.type ?? 'dyn']));
    environment.registerType(variablesType, { ctor: this.#Value, fields }).registerVariable('variables', variablesType);
  }

  /** For one evaluation: each is evaluated on first use. */
  values(evaluate: (variable: Variable) => unknown): unknown {
    return new this.#Value(evaluate);
  }
}

function lazyValues(find: (name: string) => Variable | undefined) {
  return class extends Map<string, unknown> {
    readonly #evaluate: (variable: Variable) => unknown;

    constructor(evaluate: (variable: Variable) => unknown) {
      super();
      this.#evaluate = evaluate;
    }

    override get(name: string): unknown {
      const variable = find(name);
      if (variable !== undefined && !super.has(name)) super.set(name, this.#evaluate(variable));
      return super.get(name);
    }
  };
}
