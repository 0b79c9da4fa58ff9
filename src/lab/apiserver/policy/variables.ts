/** The variable `variables` of a policy: a type with one field for each, whose values come into being when they are asked for. */
import type { Environment } from '@marcbachmann/cel-js';
import type { Expression } from './compiled-policy.js';

/** One of them. */
export type Variable = Expression & { name: string };

const typeName = 'kubernetes.variables';

/** For one policy. It grows while the policy is compiled: each variable may use those before it. */
export class Variables {
  readonly all: Variable[] = [];
  // One class for all: by it the checker knows the value, whichever variables there were when an expression was compiled.
  readonly #Value = lazyValues((name) => this.all.find((variable) => variable.name === name));

  /** As they are now. */
  declare(environment: Environment): void {
    const fields = Object.fromEntries(this.all.map(({ name, program }) => [name, program?.type ?? 'dyn']));
    environment.registerType(typeName, { ctor: this.#Value, fields }).registerVariable('variables', typeName);
  }

  /** For one evaluation: each is evaluated when it is asked for, once. */
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
