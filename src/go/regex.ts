/** Regular expressions in Go's syntax (RE2). They run in linear time, because untrusted patterns are matched against untrusted text. */
import { RE2JS } from 're2js';

/** Repetitions that multiply are refused by the library; what is left is bounded by the length. */
const maxPatternLength = 4096;
const maxCompiled = 200;
const compiled = new Map<string, RE2JS>();

/** It is not a regular expression of Go; the message is Go's. */
export class PatternError extends Error {}

export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  if (pattern.length > maxPatternLength)
    throw new PatternError(`error parsing regexp: expression too large: \`${pattern.slice(0, 100)}\``);
  let made: RE2JS;
  try {
    made = RE2JS.compile(pattern);
  } catch (error) {
    throw new PatternError((error as Error).message);
  }
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(pattern, made);
  return made;
}
