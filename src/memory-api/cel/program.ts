/**
 * Compiles and runs CEL for the rest of the server: text is compiled once, a program runs often. Everything of the CEL library (its
 * nodes, errors and names) stays in this directory.
 */
import { Environment, EvaluationError, ParseError, TypeError as WrongType } from '@marcbachmann/cel-js';
import { adapt, type Node } from './syntax-tree.js';

export interface Program {
  /** The type of its result: bool, string, list<string>, dyn … */
  type: string;
  /** The variables it refers to. */
  names: ReadonlySet<string>;
  /** Throws a RunError. */
  run(variables: Record<string, unknown>): unknown;
}

/** The expression is invalid. */
export class CompileError extends Error {}

/** The expression could not be evaluated for these values. */
export class RunError extends Error {}

/** Limits on depth and length of an expression, far beyond real ones. */
const limits = { maxAstNodes: 10_000, maxDepth: 100, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 };

let base: Environment | undefined;

/** A copy to add variables to. The base is built for the first rule: most servers have none. */
export function newEnvironment(): Environment {
  base ??= new Environment({ enableOptionalTypes: true, limits });
  return base.clone();
}

export function compile(environment: Environment, expression: string): Program {
  try {
    const parsed = environment.parse(expression);
    const names = adapt(parsed.ast as unknown as Node);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error;
    return { type: checked.type ?? 'dyn', names, run: (variables) => run(parsed, variables) };
  } catch (error) {
    if (error instanceof ParseError || error instanceof WrongType || error instanceof EvaluationError)
      throw new CompileError(error.summary);
    throw error;
  }
}

function run(parsed: ReturnType<Environment['parse']>, variables: Record<string, unknown>): unknown {
  try {
    return parsed(variables);
  } catch (error) {
    // A value beyond the limits of the engine, or a stack overflow, is an error of the expression.
    if (error instanceof EvaluationError) throw new RunError(error.summary);
    if (error instanceof RangeError) throw new RunError('value too large');
    throw error;
  }
}
