/** docs/node-flags.md and relet's own flags say the same, both ways. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownFlags } from '../src/agent/options.js';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'node-flags.md'), 'utf8');
const table = page.slice(page.indexOf("## relet's own flags"), page.indexOf("## What happens to the kubelet's flags"));

test('every own flag has its row, with the value, the default and the sentence of the code', () => {
  const fromPage = table.split('\n').filter((line) => line.startsWith('| `--'));
  const fromCode = Object.entries<{ value?: string; default: string; help: string }>(ownFlags).map(([name, flag]) => {
    const usage = flag.value === undefined ? name : `${name}=${flag.value.replaceAll('|', '\\|')}`;
    const standard = flag.value === undefined ? 'off' : flag.default === '' ? 'none' : `\`${flag.default}\``;
    return `| \`--${usage}\` | ${standard} | ${flag.help} |`;
  });
  expect(fromPage).toEqual(fromCode);
});

test('every flag that the page speaks of elsewhere is there', () => {
  const kubelets = ['config', 'config-dir', 'kubeconfig', 'hostname-override', 'feature-gates', 'a'];
  const spoken = [...page.matchAll(/`--([a-z][a-z-]*)/g)].map(([, name]) => name!);
  expect(spoken.filter((name) => !Object.hasOwn(ownFlags, name) && !kubelets.includes(name))).toEqual([]);
});
