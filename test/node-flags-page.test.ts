/** docs/node-flags.md and relet's own flags say the same, both ways. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type OwnFlag, ownFlags } from '../src/agent/options.js';
import { agentFlags } from '../src/cli/node/agent-flags.js';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'node-flags.md'), 'utf8');
const table = page.slice(page.indexOf("## relet's own flags"), page.indexOf("## What happens to the kubelet's flags"));

const agentTable = page.slice(page.indexOf('## `relet agent`'));

test.each([
  ['relet kubelet', table, ownFlags],
  ['relet agent', agentTable, agentFlags],
])(
  'every own flag of %s has its row, with the value, the default and the sentence of the code',
  (_name, text, flags) => {
    const fromPage = text.split('\n').filter((line) => line.startsWith('| `--'));
    const fromCode = Object.entries<OwnFlag>(flags).map(([name, flag]) => {
      const usage = flag.value === undefined ? name : `${name}=${flag.value.replaceAll('|', '\\|')}`;
      const standard = flag.value === undefined ? 'off' : flag.default === '' ? 'none' : `\`${flag.default}\``;
      return `| \`--${usage}\` | ${standard} | ${flag.help} |`;
    });
    expect(fromPage).toEqual(fromCode);
  },
);

test('every flag that the page speaks of elsewhere is there', () => {
  const kubelets = ['config', 'config-dir', 'kubeconfig', 'hostname-override', 'feature-gates', 'a'];
  const spoken = [...page.matchAll(/`--([a-z][a-z-]*)/g)].map(([, name]) => name!);
  expect(
    spoken.filter(
      (name) => ![ownFlags, agentFlags].some((flags) => Object.hasOwn(flags, name)) && !kubelets.includes(name),
    ),
  ).toEqual([]);
});
