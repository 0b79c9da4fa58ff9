/** scripts/words.mjs finds retired words, and leaves texts alone that must keep them. */
import { describe, expect, test } from 'vitest';
// @ts-expect-error: a script without types
import * as words from '../scripts/words.mjs';

const check = words.check as (file: string, text: string) => string[];

describe('retired words', () => {
  test.each([
    ['a word', 'the config is judged', '"judged": write "validate"'],
    ['a word inside an identifier', 'new RememberedJudge()', '"Judge": write "validate"'],
    ['a phrase', 'that is no quantity', '"is no quantity": write "is not a"'],
    ['a phrase with a capital letter', 'Whoever writes it', '"Whoever": write "name the subject"'],
  ])('%s is reported with its place and the word to write', (_kind, line, report) => {
    expect(check('docs/page.md', `# Page\n\n${line}\n`)).toEqual([`docs/page.md:3: ${report}`]);
  });

  test.each([
    ['there is no such file'],
    ['it is no longer there'],
    ['`…` stands for anything'],
    ['prejudged'],
    ['make room for the checkpoint'],
    ['connection refused'],
  ])('%s: is not reported', (line) => {
    expect(check('docs/page.md', line)).toEqual([]);
  });

  test('a retired name is reported in code and not in docs', () => {
    expect(check('src/rollout/plan.ts', 'export type Standing =')).toHaveLength(1);
    expect(check('src/cli/session.ts', "  const said = new Set(['what was said']);")).toHaveLength(1);
    expect(check('src/cli/doctor/nodes.ts', '  said: unknown;')).toHaveLength(1);
    expect(check('docs/page.md', 'Standing orders')).toEqual([]);
    expect(check('docs/page.md', 'a type said')).toEqual([]);
  });

  test('a text that must stay is not reported, and hides nothing beside it', () => {
    expect(check('docs/page.md', 'relet node clear-verdict')).toEqual([]);
    expect(check('docs/page.md', 'relet node clear-verdict judges again')).toHaveLength(1);
  });

  test('recorded evidence and released changelog entries are not checked', () => {
    expect(words.isChecked('test/evidence/api.md')).toBe(false);
    expect(words.isChecked('docs/cli.md')).toBe(true);
    const changelog = (heading: string) => check('CHANGELOG.md', `# Changelog\n\n## ${heading}\n\n- a verdict\n`);
    expect(changelog('Unreleased')).toHaveLength(1);
    expect(changelog('0.1.0')).toEqual([]);
  });

  test('paths on the command line limit what is checked', () => {
    expect(words.isChecked('src/agent/agent.ts')).toBe(true);
    expect(words.isChecked('src/agent/agent.ts', ['src/agent/'])).toBe(true);
    expect(words.isChecked('src/agent/agent.ts', ['docs/'])).toBe(false);
  });

  test('an exception for a directory does not count elsewhere', () => {
    expect(check('src/config/check.ts', 'return { verdict }')).toEqual([]);
    expect(check('docs/cli.md', 'the verdict')).toHaveLength(1);
  });
});

describe('the beginning of a comment', () => {
  test.each([
    ['// What was written', 'What'],
    ["  call('a'); // Who calls it", 'Who'],
    ['/** Whose nodes they are. */', 'Whose'],
    ['/* Of the kubelet. */', 'Of'],
    ['<p>{/* Where it is */}</p>', 'Where'],
    ['/**\n * One that runs, and\n * what it does.\n */', 'One that'],
  ])('%j is reported: it does not name its subject', (text, found) => {
    const write = 'the noun that the comment is about, or a verb';
    const line = text.startsWith('/**\n') ? 2 : 1;
    expect(check('src/agent/agent.ts', text)).toEqual([`src/agent/agent.ts:${line}: "${found}": write "${write}"`]);
    for (const file of [
      'test/trial.test.ts',
      'scripts/build.mjs',
      'bench/agent/run.mjs',
      'src/dashboard/page/fleet/filters.tsx',
    ])
      expect(check(file, text), file).toHaveLength(1);
    expect(check('docs/cli.md', text)).toEqual([]);
  });

  test.each([
    ['// Expectations: own writes that the informers have not delivered yet.'],
    ['/** Returns the node, or undefined. Where there is none, the caller waits. */'],
    ['/** Whether it runs. */'],
    ['// Official images have no shell.'],
    ['// The kubelet exits if it has no file.\n// Where it has one, it starts.'],
    ['/**\n * Starts a kubelet.\n * Where it fails, the agent retries.\n */'],
    ["expect(text).toContain('// What a kubelet does');"],
    ["question: 'What is it? // Who knows',"],
  ])('%j is not reported', (text) => {
    expect(check('src/agent/agent.ts', text)).toEqual([]);
  });
});

test('every exception has a reason, and every entry says what to write', () => {
  for (const { text, why } of words.exceptions) expect([text, why].every((part) => part.length > 3)).toBe(true);
  for (const { find, write } of words.retired) {
    expect(find.global, String(find)).toBe(true);
    expect(write, String(find)).toMatch(/\w/);
  }
});
