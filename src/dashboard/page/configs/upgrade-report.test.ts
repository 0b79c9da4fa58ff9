/** Results of an upgrade check in a sentence, and the versions to choose from. */
import { expect, test } from 'vitest';
import { type NodesReport, resultOf, versionsAfter } from './upgrade-report.js';

const report = (changes: Partial<NodesReport>): NodesReport => ({
  file: 'local',
  from: '1.35',
  to: '1.37',
  startup: 'ok',
  findings: [],
  ...changes,
});
const finding = { severity: 'warning', change: 'default', since: '1.37', path: 'x', message: 'y' } as const;

test.each([
  ['It means the same.', {}],
  ['It means the same.', { findings: [{ ...finding, severity: 'note' as const }] }],
  ['The kubelet starts with it, and some of it changes.', { findings: [finding] }],
  ['The kubelet would not start with it.', { startup: 'fails' as const, findings: [finding] }],
  ['Its kubelet is at 1.37 or later: there is nothing to upgrade.', { upgraded: true }],
  ['Not checked: no version.', { unknown: 'no version' }],
])('%s', (sentence, changes) => {
  expect(resultOf(report(changes))).toBe(sentence);
});

test('from the minor after the oldest kubelet to the newest known', () => {
  expect(versionsAfter(['v1.35.2', 'v1.36.0', ''], 37)).toEqual(['1.36', '1.37']);
  // There is always one to choose, also where nothing is left to upgrade.
  expect(versionsAfter(['v1.37.0'], 37)).toEqual(['1.37']);
  expect(versionsAfter([], 37)).toEqual(['1.37']);
});
