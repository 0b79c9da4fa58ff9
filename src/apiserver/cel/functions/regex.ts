/** Regular expressions in Go's syntax and in linear time: `matches`, `find`, `findAll`. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import { spend } from '../meter.js';
import { ownName } from '../syntax-tree.js';

/** Longer patterns, and those whose counted repetitions multiply, could fill memory when compiled. */
const maxPatternLength = 4096;
const maxRepetitions = 1000;
const maxCompiled = 200;
const compiled = new Map<string, RE2JS>();

export function declareRegex(environment: Environment): void {
  environment
    .registerFunction(`string.${ownName('matches')}(string): bool`, (text: string, pattern: string) =>
      matcherOf(pattern, text).find(),
    )
    .registerFunction('matches(string, string): bool', (text: string, pattern: string) =>
      matcherOf(pattern, text).find(),
    )
    .registerFunction('string.find(string): string', (text: string, pattern: string) => {
      const matcher = matcherOf(pattern, text);
      return matcher.find() ? (matcher.group() ?? '') : '';
    })
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      findAll(text, pattern, -1),
    )
    .registerFunction('string.findAll(string, int): list<string>', (text: string, pattern: string, limit: bigint) =>
      findAll(text, pattern, Number(limit)),
    );
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const matcher = matcherOf(pattern, text);
  const found: string[] = [];
  while ((limit < 0 || found.length < limit) && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}

function matcherOf(pattern: string, text: string): ReturnType<RE2JS['matcher']> {
  spend((text.length * pattern.length) / 40 + 1);
  return compile(pattern).matcher(text);
}

function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  if (pattern.length > maxPatternLength || repetitions(pattern) > maxRepetitions)
    throw new EvaluationError(`error parsing regexp: expression too large: \`${pattern.slice(0, 100)}\``);
  let made: RE2JS;
  try {
    made = RE2JS.compile(pattern);
  } catch (error) {
    throw new EvaluationError((error as Error).message);
  }
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

/** All counts multiplied, as if each stood inside the one before: an upper bound of how often something is repeated. */
function repetitions(pattern: string): number {
  let product = 1;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) product *= Math.max(+(most || least!), 1);
  return product;
}
