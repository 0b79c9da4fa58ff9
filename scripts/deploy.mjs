/**
 * Writes the templates of the Helm charts from the manifests that `kubectl apply -k` uses, so that both install the same.
 * Comments in deploy/ say what a chart makes of them:
 *
 *   replicas: 2 # chart: .Values.controller.replicas     its value is that expression, also where it is on the lines below
 *   #chart {{- if .Values.agent.enabled }}               a line that only the template has
 *
 * `node scripts/deploy.mjs` writes them; test/charts.test.ts fails when they are out of date.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
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
  const lines = text.split('\n');
  for (const { first, last, before, key, value, expression } of marks(lines).reverse()) {
    const start = `${before}${key === undefined ? '' : `${key}: `}`;
    const isScalar = value !== '' && !/^[[{]/.test(value);
    const indented = `${start.trimEnd()} {{- toYaml ${expression} | nindent ${before.length + 2} }}`;
    lines.splice(first, last - first + 1, isScalar ? `${start}{{ ${expression} | toJson }}` : indented);
  }
  return lines.map((line) => line.replace(/^( *)#chart /, '$1')).join('\n');
}

/** What values have to be by default, so that the chart installs what the manifest does: pairs of path and YAML. */
export function defaultsIn(text) {
  const lines = text.split('\n');
  return marks(lines)
    .filter(({ expression }) => expression.startsWith('.Values.'))
    .map(({ first, last, value, expression }) => [
      expression.replace('.Values.', ''),
      [value, ...lines.slice(first + 1, last + 1)].join('\n'),
    ]);
}

/** Each template by its path, from each manifest by its path. */
export function templates() {
  const list = [];
  for (const dir of ['base', 'guards', 'agent'])
    for (const name of readdirSync(join(repository, 'deploy', dir))) {
      if (name === 'kustomization.yaml' || name === 'namespace.yaml') continue;
      const from = join('deploy', dir, name);
      const chart = name.endsWith('.relet.dev.yaml') ? 'relet-crds' : 'relet';
      const text = readFileSync(join(repository, from), 'utf8');
      const note = `{{- /* Written by scripts/deploy.mjs from ${from}. */ -}}\n`;
      list.push({ from, to: join('deploy/helm', chart, 'templates', basename(name)), text: note + templateOf(text) });
    }
  return list;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  for (const { to, text } of templates()) {
    mkdirSync(dirname(join(repository, to)), { recursive: true });
    writeFileSync(join(repository, to), text);
  }
