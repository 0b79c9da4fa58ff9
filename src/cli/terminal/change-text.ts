/** Changes of a config as people read them: what was, what will be, and what each needs on a live node. */
import { type Impact, impactOf, mostDemanding, type Needs, needsMeaning } from '../../config/catalogue.js';
import { type Change, diff } from '../../config/diff.js';
import type { KubeletConfig, Minor } from '../../config/model.js';
import { oneLine } from '../../visible-text.js';
import { wrap } from './styled-text.js';
import type { Paint, Terminal } from './terminal.js';

/** One change as `-o json` prints it. `from` or `to` is absent where a map has no such key. */
export interface Difference extends Impact {
  path: string;
  from: unknown;
  to: unknown;
  /** A flag of the node's kubelet wins over the config, so this will not change. */
  pinnedByFlag?: true;
}

export function withImpact({ path, before, after }: Change, minor: Minor): Difference {
  const { needs, why, risk } = impactOf(path, minor)!;
  return { path, from: before, to: after, needs, why, risk };
}

/** By meaning; both are decoded. */
export const differencesOf = (before: KubeletConfig, after: KubeletConfig, minor: Minor): Difference[] =>
  diff(before, after, minor).map((change) => withImpact(change, minor));

export const differencesAsJson = (differences: Difference[]): string =>
  JSON.stringify(differences, (_key, value) => (typeof value === 'bigint' ? Number(value) : value), 2);

export function differencesAsText(differences: Difference[], { columns, paint }: Terminal): string {
  if (differences.length === 0) return 'No difference in meaning.';
  const blocks = differences.map(({ path, from, to, needs, why, risk }) =>
    [
      `${paint.bold(oneLine(path))}  ${paintNeeds(needs, paint)}`,
      `    ${paint.red(`- ${shown(from)}`)}`,
      `    ${paint.green(`+ ${shown(to)}`)}`,
      ...(needs === 'restart' ? [] : [wrap(why, columns, '    ')]),
      wrap(`Risk: ${risk}`, columns, '    '),
    ].join('\n'),
  );
  const needs: Needs = mostDemanding(differences.map((difference) => difference.needs));
  const total = needs === 'restart' ? 'Impact: kubelet restart.' : `Impact: ${needs}. ${needsMeaning[needs]}`;
  return `${blocks.join('\n')}\n\n${wrap(total, columns)}`;
}

export function shown(value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  return typeof value === 'string' && value !== ''
    ? oneLine(value)
    : JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));
}

export function paintNeeds(needs: Needs, paint: Paint): string {
  if (needs === 'none' || needs === 'restart') return paint.green(needs);
  return needs === 'never' || needs === 'reboot' ? paint.red(needs) : paint.yellow(needs);
}
