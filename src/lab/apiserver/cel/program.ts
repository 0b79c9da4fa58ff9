/**
 * CEL for the rest of the server: text is compiled once, a program runs often. Everything of the library
 * (its nodes, its errors, its names) stays in this directory.
 */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { compileMessage, evaluationMessage } from './messages.js';
import { type Meter, metered, OutOfBudget } from './meter.js';
import { adapt, instrument, type Node } from './syntax-tree.js';

/** As cel-go limits it. */
const maxExpressionLength = 100_000;

export interface Program {
  /** The type of its result: bool, string, list<string>, dyn … */
  type: string;
  /** The variables it refers to. */
  names: ReadonlySet<string>;
  /** Throws a RunError. */
  run(variables: Record<string, unknown>, meter: Meter): unknown;
}

/** The expression is invalid; the message is that of cel-go. */
export class CompileError extends Error {}

/** It could not be evaluated for these values; the message is that of cel-go. */
export class RunError extends Error {
  constructor(
    message: string,
    readonly isOutOfBudget = false,
  ) {
    super(message);
  }
}

export function compile(environment: Environment, expression: string): Program {
  if (expression.length > maxExpressionLength) throw new CompileError(tooLong(expression.length));
  let parsed: ReturnType<Environment['parse']>;
  try {
    parsed = environment.parse(expression);
  } catch (error) {
    throw new CompileError(compileMessage(error, expression));
  }
  const root = parsed.ast as unknown as Node;
  const names = adapt(root);
  const checked = parsed.check();
  if (!checked.valid) throw new CompileError(compileMessage(checked.error, expression));
  instrument(root);
  return {
    type: checked.type ?? 'dyn',
    names,
    run(variables, meter) {
      try {
        return metered(meter, () => parsed(variables));
      } catch (error) {
        throw runError(error, meter);
      }
    },
  };
}

function tooLong(length: number): string {
  return `ERROR: <input>:-1:0: expression code point size exceeds limit: size: ${length}, limit ${maxExpressionLength}`;
}

function runError(error: unknown, meter: Meter): RunError {
  if (error instanceof RunError) return error;
  if (error instanceof OutOfBudget || meter.isExhausted) return new RunError(new OutOfBudget().message, true);
  // A value beyond the limits of the engine, or a stack overflow, is an error of the expression.
  if (error instanceof EvaluationError || error instanceof RangeError) return new RunError(evaluationMessage(error));
  throw error;
}
