/** Signals to watch, for every field. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { signals } from '../api/signals.js';
import { watchedPaths } from './catalogue/watch.js';
import { entryOf, signalSources, watchOf, watchSentence } from './catalogue.js';
import { fields } from './fields.js';

test('every field says when a change of it shows, and what to watch', () => {
  expect(fields.filter(({ path }) => watchOf(path) === undefined).map(({ path }) => path)).toEqual([]);
  expect(watchedPaths.filter((path) => entryOf(path) === undefined)).toEqual([]);
});

test('what is given to new containers only is not said to show at once', () => {
  const early = fields.filter(({ path }) => {
    const isForNew = entryOf(path)!.pods === 'new containers only';
    return isForNew && watchOf(path)!.seen === 'at once';
  });
  expect(early.map(({ path }) => path)).toEqual([]);
});

test('a field in a map or a list is watched like the field', () => {
  expect(watchOf('evictionHard[memory.available]')).toBe(watchOf('evictionHard'));
  expect(watchOf('registerWithTaints[0].effect')).toBe(watchOf('registerWithTaints'));
});

test('every signal has a source, and a place in docs/analysis.md', () => {
  const names = Object.keys(signals).sort();
  expect(Object.keys(signalSources).sort()).toEqual(names);
  const rows = readFileSync('docs/analysis.md', 'utf8').split('\n| signal | unit |')[1]!.split('\n\n')[0]!;
  expect([...rows.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(names);
});

test('signals of several fields are named once, with the first time at which they show', () => {
  const paths = ['singleProcessOOMKill', 'evictionMinimumReclaim', 'evictionSoft', 'noSuchField', 'failCgroupV1'];
  expect(watchSentence(paths)).toBe(
    'Watch: evictions, oomKills, memoryPressure (at once); restarts, lostReady (for new pods only)',
  );
  expect(watchSentence(['noSuchField', 'failCgroupV1'])).toBeUndefined();
});
