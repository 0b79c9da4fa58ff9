/** docs/metrics.md lists each metric and each alert, as they are; alerts use metrics that exist, and fire when their tests say. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { newCounters, render } from '../src/agent/report/metrics.js';
import { controllerMetrics, newControllerCounters } from '../src/controller/metrics.js';
import { needs } from './programs.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/metrics.md');
/** Rows of the table under a heading. */
const rows = (heading: string) =>
  page
    .split(`## ${heading}\n`)[1]!
    .split('\n## ')[0]!
    .match(/^\| `.*$/gm) ?? [];

const report = { assigned: undefined, active: undefined, lastKnownGood: undefined, warnings: [], initConfig: false };
const ofNode = render({ report, counters: newCounters(), trialSeconds: 1, held: false });
const cordoned = new Map([
  ['node-1', { set: 'gpu', sinceSeconds: 200 }],
  ['node-2', { set: 'gpu', sinceSeconds: 100 }],
]);
const group = { nodes: 5, worse: 4, before: 1, after: 2 };
const signal = { name: 'podStartSeconds', kind: 'level', outcome: 'Worse', effect: 0.5, worseBy: 0.25 } as const;
const analyzed = {
  updateRevision: 'r',
  analyses: [
    {
      revision: 'r',
      attempt: 1,
      wave: 2,
      state: 'Done' as const,
      outcome: 'Worse' as const,
      signals: [{ ...signal, p: 0, alpha: 0.05, spread: 0.1, canaries: group, controls: group }],
    },
  ],
};
const ofController = controllerMetrics(
  { ...newControllerCounters(), sets: new Map([['gpu', analyzed]]), cordoned },
  true,
);

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
}
const alerts: Alert[] = parse(read('deploy/monitoring/alerts.yaml')).groups[0].rules;

test.each([
  ['What a node serves', ofNode],
  ['What the controller serves', ofController],
])('%s: each metric has its row, with its type and its text', (heading, text) => {
  const metrics = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)];
  expect(metrics.length).toBeGreaterThan(5);
  expect(rows(heading)).toEqual(metrics.map(([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`));
});

test('the newest analysis of a set has its outcome and its effects', () => {
  expect(ofController).toContain('relet_set_analysis_outcome{set="gpu",wave="2",outcome="Worse"} 1\n');
  expect(ofController).toContain('relet_set_analysis_effect{set="gpu",signal="podStartSeconds"} 0.5\n');
});

test('nodes that are cordoned are counted for each set, without their names', () => {
  expect(ofController).toContain('relet_set_cordoned_nodes{set="gpu"} 2\n');
  expect(ofController).toContain('relet_set_oldest_cordon_seconds{set="gpu"} 100\n');
  expect(ofController).not.toContain('node-1');
});

test('each alert has its row, with its severity and what to do', () => {
  const listed = rows('Alerts').map((row) => row.split(' | ').slice(0, 2));
  expect(listed).toEqual(alerts.map(({ alert, labels }) => [`| \`${alert}\``, labels.severity]));
});

test('alerts use metrics that are served', () => {
  const served = new Set([...(ofNode + ofController).matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name));
  const used = alerts.flatMap(({ expr }) => expr.match(/\b(?:relet|kubelet)_\w+/g) ?? []);
  expect(used.filter((name) => !served.has(name))).toEqual([]);
  expect(used.length).toBeGreaterThan(6);
});

/** Queries of the dashboard for Grafana, with its variables filled in. */
const queries = (
  JSON.parse(read('deploy/monitoring/grafana-dashboard.json')) as { panels: { targets: { expr: string }[] }[] }
).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$set', '.*')));

test('the dashboard for Grafana uses metrics and labels that are served', () => {
  const served = new Set([...(ofNode + ofController).matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name));
  const labels = queries.flatMap((expr) =>
    [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', ')),
  );
  expect(labels.filter((label) => !`${ofNode}${ofController}`.includes(`${label}="`))).toEqual([]);
  const used = queries.flatMap((expr) => expr.match(/\b(?:relet|kubelet)_\w+/g) ?? []);
  expect(used.filter((name) => !served.has(name))).toEqual([]);
  expect(used.length).toBeGreaterThan(12);
});

test('each alert has a test in which it fires', () => {
  const { tests } = parse(read('deploy/monitoring/alerts.test.yaml')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const firing = tests.flatMap((one) => one.alert_rule_test).filter((one) => one.exp_alerts.length > 0);
  expect([...new Set(firing.map(({ alertname }) => alertname))].sort()).toEqual(
    alerts.map(({ alert }) => alert).sort(),
  );
});

const promtool = needs('promtool');

describe.skipIf(promtool.isMissing)(`as Prometheus sees it${promtool.note}`, () => {
  const run = (args: string[], input = '') => spawnSync('promtool', args, { cwd: root, input, encoding: 'utf8' });

  test('the alerts fire when their tests say, and not otherwise', () => {
    const { status, stdout, stderr } = run(['test', 'rules', 'deploy/monitoring/alerts.test.yaml']);
    expect(stdout + stderr).toContain('SUCCESS');
    expect(status).toBe(0);
  });

  test('the queries of the dashboard are valid', () => {
    const file = join(temporaryDir(), 'rules.json');
    const rules = queries.map((expr, index) => ({ record: `query_${index}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const checked = run(['check', 'rules', file]);
    expect(checked).toMatchObject({ status: 0 });
  });

  test.each([
    ['a node', ofNode],
    ['the controller', ofController],
  ])('the metrics of %s are well formed', (_who, text) => {
    expect(run(['check', 'metrics'], text)).toMatchObject({ status: 0, stderr: '' });
  });
});
