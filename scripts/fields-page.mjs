/** Writes docs/fields.md from the catalogue; with `--check` it only reports whether the page is current, as a test does. */
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const page = new URL('../docs/fields.md', import.meta.url).pathname;

/** The catalogue is TypeScript; Node 20 needs it bundled first. */
async function load(source) {
  const root = new URL('..', import.meta.url).pathname;
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: root, loader: 'ts' },
    bundle: true,
    format: 'esm',
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
}

async function fieldsPage() {
  const { themes, needsMeaning, fieldAt, defaultOf, newestMinor } = await load(`
    export { themes, needsMeaning } from './src/config/catalogue.js';
    export { fieldAt, defaultOf } from './src/config/fields.js';
    export { newestMinor } from './src/config/model.js';
  `);
  const classes = Object.entries(needsMeaning).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  const total = themes.reduce((sum, [, entries]) => sum + Object.keys(entries).length, 0);
  const sections = themes.map(([title, entries]) => {
    const parts = Object.entries(entries).map(([path, entry]) => section(path, entry, fieldAt(path)));
    return `## ${title}\n\n${parts.join('\n\n')}`;
  });
  return `# Fields of KubeletConfiguration, and what changing them needs

<!-- Written by scripts/fields-page.mjs from src/config/catalogue; change it there. -->

All ${total} field paths of \`kubelet.config.k8s.io/v1beta1\`, kubelet 1.11 to 1.${newestMinor}. \`relet config explain FIELD\` prints the same.

relet restarts the kubelet for every change, so \`restart\` is the normal class.

| class | what the change needs |
|---|---|
${classes.join('\n')}

${sections.join('\n\n')}
`;

  function section(path, { what, needs, why, risk, later }, field) {
    const until = field.last === newestMinor ? `since 1.${field.first}` : `1.${field.first} to 1.${field.last}`;
    const facts = [
      `needs **${needs}**${later === undefined ? '' : ` (from 1.${later.from}: **${later.needs}**)`}`,
      until,
      ...(field.goType === '{}' ? [] : [`default ${inCode(defaultOf(field, field.last))}`]),
      ...(field.flag === undefined ? [] : [`flag \`--${field.flag}\``]),
    ];
    return [
      `### \`${path}\``,
      facts.join(' · '),
      plain(what),
      `- Why: ${plain(why)}${later === undefined ? '' : ` From 1.${later.from}: ${plain(later.why)}`}`,
      `- What can go wrong: ${plain(risk)}`,
    ]
      .join('\n\n')
      .replace('\n\n- What', '\n- What');
  }
}

const inCode = (value) =>
  value === null || value === '' ? 'none' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** Markdown would read stars and angle brackets as its own. */
const plain = (text) => text.replace(/[*<>_]/g, '\\$&');

const wanted = await fieldsPage();
if (!process.argv.includes('--check')) writeFileSync(page, wanted);
else if (readFileSync(page, 'utf8') !== wanted) {
  console.error(
    "docs/fields.md is not what the catalogue says; run 'node scripts/fields-page.mjs' and commit the page",
  );
  process.exitCode = 1;
}
