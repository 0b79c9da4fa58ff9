/** docs/attached-mode.md: its table of what others do to the unit has every reason of UnitOK, and each of its rows has a test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unitReasons } from '../src/api/condition-reasons.js';

const repository = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(repository, name), 'utf8');
const page = read('docs/attached-mode.md');
const table = page.slice(page.indexOf('| what happens |'), page.indexOf('## When relet is broken'));
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what happens'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));

/** Rows of the table, as each begins, and the test of each: its file and its name. */
const tests: [row: string, file: string, name: string][] = [
  ['`ExecStart=` of the unit', 'test/systemd-others.test.ts', 'a changed command is repeated in the next start'],
  ['an environment file', 'test/systemd-agent.test.ts', 'a changed flag of the kubelet is found at its next start'],
  ["relet's drop-in is removed", 'test/systemd-agent.test.ts', 'a drop-in that an operator reverts is reported'],
  ['the unit is masked', 'test/systemd-others.test.ts', 'a masked unit is waited for'],
  ['an operator stops the unit', 'test/systemd-others.test.ts', 'a unit that an operator stopped is not started'],
  ['another drop-in', 'test/systemd-others.test.ts', 'a drop-in that sets a command after those of relet'],
  ['`/etc` is read-only', 'test/systemd-others.test.ts', 'that is read-only: a config is tried'],
  ['`/etc` is forgotten', 'test/systemd-others.test.ts', 'that forgets everything at a boot'],
  ['the local config file', 'src/agent/unit-flow.test.ts', 'is merged again and staged for the next start'],
  ["the kubelet's binary", 'src/agent/unit-flow.test.ts', 'is merged again when the kubelet is replaced'],
  ['a reboot loses', 'src/agent/unit-flow.test.ts', 'is restarted once with what was staged when a reboot lost that'],
  ['the deadline of a trial', 'test/systemd.test.ts', 'is rolled back at the deadline without an agent'],
  ['a config has failed', 'src/agent/rollback.test.ts', 'the host is asked to return to the kept config before'],
  [
    'a config that was rolled back',
    'src/agent/drivers/systemd/unit-record.test.ts',
    'a limit that a rollback could not',
  ],
  ['a last known good config crashes', 'test/systemd.test.ts', 'is replaced by the local config without an agent'],
  ['an operator restarts or kills', 'test/systemd.test.ts', 'is not blamed for restarts and kills by an operator'],
  ['a second agent', 'test/systemd-others.test.ts', 'a second agent is refused while the first one lives'],
  ['`relet kubelet` is in the unit', 'test/systemd-agent.test.ts', 'a node moves from relet kubelet to attached mode'],
];

describe('what others do to the unit', () => {
  test('every row has a test, in the order of the table', () => {
    expect(rows.map(([what]) => what!.slice(0, 12))).toEqual(tests.map(([what]) => what.slice(0, 12)));
    for (const [row, file, name] of tests) expect(read(file), row).toContain(`'${name}`);
  });

  test('every reason of UnitOK has a row, and no other is there', () => {
    const named = rows.flatMap((row) => row[2]!.match(/(?<=`)[A-Z]\w+(?=`)/g) ?? []);
    const reasons = Object.values(unitReasons).map(({ reason }) => reason);
    expect([...new Set(named)].filter((reason) => reason !== 'ConfigOK').sort()).toEqual(reasons.toSorted());
  });
});

test('every layout has its file', () => {
  const layouts = page.slice(page.indexOf('## Layouts of units'), page.indexOf('**SELinux.**'));
  for (const [name, file] of [
    ['kubeadm', 'kubeadm'],
    ['kOps', 'kops'],
    ['EKS AL2023', 'eks-al2023'],
    ['AKS', 'aks'],
    ['Flatcar', 'flatcar'],
    ['GCE', 'gce'],
  ]) {
    expect(layouts).toMatch(new RegExp(`^\\| ${name}\\b`, 'm'));
    expect(read(`test/fixtures/units/${file}.txt`)).toContain('ExecStart=');
  }
});
