/**
 * Writes the pages that are made from the facts: docs/fields.md, and the tables of docs/upgrades.md. With `--check` it only reports
 * whether they are current, as a test does.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/** The catalogue is TypeScript; Node 20 needs it bundled first. */
async function load(source) {
  const root = join(import.meta.dirname, '..');
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: root, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
}

async function fieldsPage() {
  const { themes, needsMeaning, classesOf, watchOf, signalSources, bugsOf, bugText, fieldAt, defaultOf, newestMinor } =
    await load(`
    export { classesOf, themes, needsMeaning, signalSources, watchOf } from './src/config/catalogue.js';
    export { fieldAt, defaultOf } from './src/config/fields.js';
    export { bugsOf, bugText } from './src/config/known-bugs.js';
    export { newestMinor } from './src/config/model.js';
  `);
  const classes = Object.entries(needsMeaning).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  const total = themes.reduce((sum, [, entries]) => sum + Object.keys(entries).length, 0);
  const sections = themes.map(([title, entries]) => {
    const parts = Object.entries(entries).map(([path, entry]) => section(path, entry, fieldAt(path)));
    return `## ${title}\n\n${parts.join('\n\n')}`;
  });
  return `# Fields of KubeletConfiguration, and what changing them needs

<!-- Written by scripts/fact-pages.mjs from src/config/catalogue; change it there. -->

All ${total} field paths of \`kubelet.config.k8s.io/v1beta1\`, kubelet 1.11 to 1.${newestMinor}. \`relet config explain FIELD\` prints the same.

relet restarts the kubelet for every change, so \`restart\` is the normal class. Where the class depends on the direction of a
change or on what runs on the node, the cases are listed; the first that applies holds. A value that is written when a pod
or container is created needs only a restart: pods that run keep the old one until they are created again. It needs a drain
only where a pod that stays would break or be rejected.

| class | what the change needs |
|---|---|
${classes.join('\n')}

What to watch after a change are signals that the agent measures, and that an analysis compares:

| signal | source |
|---|---|
${Object.entries(signalSources)
  .map(([name, source]) => `| \`${name}\` | ${cell(source)} |`)
  .join('\n')}

Names that begin with \`kubelet_\` or \`rest_client_\` are metrics of the kubelet. Known bugs are those of released kubelets that
depend on the field, with the pull request that fixed them; a release of a vendor may have the fix earlier.

${sections.join('\n\n')}
`;

  function section(path, { what, needs, why, risk, atBoot, later, cases = [] }, field) {
    const until = field.last === newestMinor ? `since 1.${field.first}` : `1.${field.first} to 1.${field.last}`;
    const facts = [
      `needs ${classNames(path, later)}${later === undefined ? '' : ` (from 1.${later.from}: **${later.needs}**)`}`,
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
      ...(atBoot === undefined ? [] : [`- What a trial cannot find out: ${plain(atBoot)}`]),
      `- ${watchText(path)}`,
      ...bugsOf(path).map((bug) => `- Known bug: ${bug.path === path ? '' : `\`${bug.path}\`, `}${cell(bugText(bug))}`),
      ...cases.map((one) => `- ${caseText(one, needs)}`),
    ]
      .join('\n\n')
      .replaceAll(/\n\n- (?!Why)/g, '\n- ');
  }

  function watchText(path) {
    const { seen, signals, metrics } = watchOf(path);
    const names = [...signals, ...metrics].map((name) => `\`${name}\``).join(', ');
    return `Seen ${seen}${names === '' ? '.' : `. Watch ${names}.`}`;
  }

  function classNames(path, later) {
    return classesOf(path, later === undefined ? newestMinor : later.from - 1)
      .map((needs) => `**${needs}**`)
      .join(' or ');
  }
}

const caseText = ({ when, needs, why, risk }, general) =>
  [`${plain(when)}: **${needs ?? general}**.`, ...[why, risk].filter(Boolean).map(plain)].join(' ');

const inCode = (value) =>
  value === null || value === '' ? 'none' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** Markdown would read stars and angle brackets as its own. */
const plain = (text) => text.replace(/[*<>_]/g, '\\$&');

/** Text of a table, where code may hold what Markdown would read as its own. */
const cell = (text) => text.replace(/(`[^`]*`)|[*<>_|]/g, (sign, code) => code ?? `\\${sign}`);

const marker = '<!-- From here on written by scripts/fact-pages.mjs from src/config; change it there. -->';

/** Keeps the text above the marker, which is written by hand. */
async function upgradesPage(present) {
  const { changesIn, newestMinor, oldestMinor } = await load(`
    export { changesIn } from './src/config/minor-changes.js';
    export { newestMinor, oldestMinor } from './src/config/model.js';
  `);
  const tables = [];
  for (let minor = newestMinor; minor > oldestMinor; minor--) tables.push(table(minor, changesIn(minor)));
  return `${present.slice(0, present.indexOf(marker))}${marker}\n\n${tables.join('\n\n')}\n`;

  function table(minor, changes) {
    const codes = (names) => names.map((name) => `\`${name}\``).join(', ');
    const rows = [
      ['new fields', [codes(changes.fieldsAdded)]],
      ['fields that are gone', [codes(changes.fieldsRemoved)]],
      [
        'defaults',
        changes.defaults.map(
          ({ path, message }) => `\`${path}\`: ${message.replace(/^it is not set, and its default/, 'the default')}`,
        ),
      ],
      ['rejected from now on', changes.rejected.map(rule)],
      ['accepted from now on', changes.accepted.map(rule)],
      ['meaning', changes.meanings.map(({ field, what }) => `\`${field}\`: ${what}`)],
      ['gates on by default', [codes(changes.gatesOn)]],
      ['gates off by default', [codes(changes.gatesOff)]],
      ['gates locked', [codes(changes.gatesLocked)]],
      ['gates that are gone', [codes(changes.gatesRemoved)]],
      ['new gates, on by default', [codes(changes.gatesAddedOn)]],
      ['new gates', [codes(changes.gatesAdded)]],
      ['flags that are gone', [codes(changes.flagsRemoved.map((name) => `--${name}`))]],
      ['new flags', [codes(changes.flagsAdded.map((name) => `--${name}`))]],
    ].flatMap(([title, texts]) => texts.filter(Boolean).map((text) => `| ${title} | ${cell(text)} |`));
    return [`## 1.${minor}`, '', `| what changes from 1.${minor - 1} | |`, '|---|---|', ...rows].join('\n');
  }
}

const rule = ([, , field, what, example]) => `\`${field}\`: ${what} (\`${example}\`)`;

for (const [name, write] of [
  ['docs/fields.md', fieldsPage],
  ['docs/upgrades.md', upgradesPage],
]) {
  const page = join(import.meta.dirname, `../${name}`);
  const present = readFileSync(page, 'utf8');
  const wanted = await write(present);
  if (!process.argv.includes('--check')) writeFileSync(page, wanted);
  else if (present !== wanted) {
    console.error(`${name} is not what the facts say; run 'node scripts/fact-pages.mjs' and commit the page`);
    process.exitCode = 1;
  }
}
