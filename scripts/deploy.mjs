/**
 * Writes the templates of the Helm charts from the manifests that `kubectl apply -k` uses, so that both install the same, and the
 * alerts as the object that the Prometheus Operator reads.
 * Comments in deploy/ say what a chart makes of them:
 *
 *   replicas: 2 # chart: .Values.controller.replicas     its value is that expression, also where it is on the lines below
 *   #chart {{- if .Values.agent.enabled }}               a line that only the template has
 *
 * `node scripts/deploy.mjs` writes them; test/charts.test.ts fails when they are out of date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const repository = join(import.meta.dirname, '..');

/** The values in a manifest that an expression of the chart replaces, and the lines that each takes. */
function marks(lines) {
  return lines.flatMap((line, first) => {
    const [, before, key, value, expression] = /^( *(?:- )?)(?:([\w./-]+):)? ?(.*?) ?# chart: (.+)$/.exec(line) ?? [];
    if (expression === undefined) return [];
    let last = first;
    while (value === '' && lines[last + 1]?.startsWith(`${' '.repeat(before.length)} `)) last++;
    return { first, last, before, key, value, expression };
  });
}

function templateOf(text) {
  // Placeholders of Prometheus are not for Helm.
  const lines = text.split('\n').map((line) => (/^ *#chart /.test(line) ? line : line.replaceAll('{{', '{{ "{{" }}')));
  for (const { first, last, before, key, value, expression } of marks(lines).reverse()) {
    const start = `${before}${key === undefined ? '' : `${key}: `}`;
    const isScalar = value !== '' && !/^[[{]/.test(value);
    const indented = `${start.trimEnd()} {{- toYaml ${expression} | nindent ${before.length + 2} }}`;
    lines.splice(first, last - first + 1, isScalar ? `${start}{{ ${expression} | toJson }}` : indented);
  }
  return lines.map((line) => line.replace(/^( *)#chart /, '$1')).join('\n');
}

/** Default values with which the chart installs the same as the manifest: pairs of path and YAML. */
export function defaultsIn(text) {
  const lines = text.split('\n');
  return marks(lines)
    .filter(({ expression }) => expression.startsWith('.Values.'))
    .map(({ first, last, value, expression }) => [
      expression.replace('.Values.', ''),
      [value, ...lines.slice(first + 1, last + 1)].join('\n'),
    ]);
}

const read = (path) => readFileSync(join(repository, path), 'utf8');

function prometheusRule() {
  const [, groups] = read('deploy/monitoring/alerts.yaml').split(/^(?=groups:)/m);
  return `#chart {{- if .Values.monitoring.alerts }}
# Written by scripts/deploy.mjs from deploy/monitoring/alerts.yaml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: relet
  namespace: relet-system
  labels:
    app.kubernetes.io/name: relet
    #chart {{- with .Values.monitoring.labels }}
    #chart {{- toYaml . | nindent 4 }}
    #chart {{- end }}
spec:
${groups.replace(/^(?=.)/gm, '  ')}#chart {{- end }}
`;
}

/** Not in a chart: Helm needs the namespace beforehand; alerts are in the rule. */
const notInCharts = [
  'kustomization.yaml',
  'namespace.yaml',
  'alerts.yaml',
  'alerts.test.yaml',
  'grafana-dashboard.json',
];

/** Each template by its path, from each manifest by its path. */
export function templates() {
  return ['base', 'guards', 'new-nodes', 'drain', 'kube-system', 'agent', 'dashboard', 'network', 'monitoring'].flatMap(
    (dir) =>
      readdirSync(join(repository, 'deploy', dir))
        .filter((name) => !notInCharts.includes(name))
        .map((name) => {
          const from = `deploy/${dir}/${name}`;
          const chart = name.endsWith('.relet.dev.yaml') ? 'relet-crds' : 'relet';
          const note = `{{- /* Written by scripts/deploy.mjs from ${from}. */ -}}\n`;
          return { from, to: `deploy/helm/${chart}/templates/${name}`, text: note + templateOf(read(from)) };
        }),
  );
}

export const rule = { to: 'deploy/monitoring/prometheus-rule.yaml', text: prometheusRule };

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const write = (path, text) => writeFileSync(join(repository, path), text);
  write(rule.to, rule.text());
  for (const { to, text } of templates()) write(to, text);
}
