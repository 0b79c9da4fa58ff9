/** Regular expressions in expressions: `matches`, `find`, `findAll`. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { compilePattern, PatternError } from '../../../../go/regex.js';
import { spend } from '../meter.js';
import { ownName } from '../syntax-tree.js';

export function declareRegex(environment: Environment): void {
  environment
    .registerFunction(`string.${ownName('matches')}(string): bool`, matches)
    .registerFunction('matches(string, string): bool', matches)
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => findAll(text, pattern, 1n)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, -1n),
    )
    .registerFunction('string.findAll(string, int): list<string>', findAll);
}

function matches(text: string, pattern: string): boolean {
  return compile(pattern, text).test(text);
}

function findAll(text: string, pattern: string, limit: bigint): string[] {
  const matcher = compile(pattern, text).matcher(text);
  const found: string[] = [];
  while ((limit < 0n || found.length < limit) && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

/** The cost of matching: at worst each character is tried against each part of the pattern. */
function compile(pattern: string, text: string): ReturnType<typeof compilePattern> {
  try {
    const compiled = compilePattern(pattern);
    spend(text.length * compiled.programSize());
    return compiled;
  } catch (error) {
    throw error instanceof PatternError ? new EvaluationError(error.message) : error;
  }
}
