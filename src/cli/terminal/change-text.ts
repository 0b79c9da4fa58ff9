/** Formats config changes for people: old and new value, what each change requires on a live node, and its effect on pods. */
import { type ImpactContext, type Needs, watchSentence } from '../../config/catalogue.js';
import { impactSentence, podsText } from '../../config/impact-sentence.js';
import { type FieldChange, type Preview, previewChanges, summarize } from '../../fleet/preview.js';
import { jsonText } from '../../json.js';
import { oneLine } from '../../visible-text.js';
import { createPaint, type Paint, type Terminal, wrap } from './terminal.js';

/** One change as `-o json` prints it. `from` or `to` is absent where a map has no such key. */
export interface Difference extends Omit<FieldChange, 'before' | 'after'> {
  from: unknown;
  to: unknown;
  /** A flag of the node's kubelet wins over the config, so this will not change. */
  pinnedByFlag?: true;
}

/** By meaning; both are decoded. */
export const differencesOf = (context: ImpactContext): Difference[] =>
  previewChanges(context).changes.map(asDifference);

export const asDifference = ({ path, before: from, after: to, ...rest }: FieldChange): Difference => ({
  path,
  from,
  to,
  ...rest,
});

export const differencesAsJson = (differences: Difference[]): string => jsonText(differences, 2);

export function differencesAsText(differences: Difference[], { columns, paint }: Terminal): string {
  const changes = differences.map(({ from, to, ...rest }): FieldChange => ({ ...rest, before: from, after: to }));
  return previewText(summarize(changes), columns, paint).join('\n');
}

/** The lines that a person reads before saying yes, none wider than `columns` but for values and names that are. */
export function previewText(preview: Preview, columns: number, paint: Paint = createPaint(false)): string[] {
  if (preview.changes.length === 0) return ['No difference in meaning.'];
  const lines = preview.changes.flatMap((change) => changeText(change, columns, paint));
  // Only signals: metrics are in 'relet config explain'.
  const watch = watchSentence(preview.changes.map(({ path }) => path));
  const end = [impactSentence(preview), ...(watch === undefined ? [] : [watch])];
  return [...lines, '', ...end.flatMap((sentence) => wrap(sentence, columns).split('\n'))];
}

function changeText(
  { path, before, after, needs, why, risk, atBoot, pods, dropped, unknown }: FieldChange,
  columns: number,
  paint: Paint,
) {
  const isDefault = dropped === true && after !== undefined;
  return [
    `${paint.bold(oneLine(path))}  ${paintNeeds(needs, paint)}`,
    `    ${paint.red(`- ${unknown === 'before' ? 'value before not known' : shown(before)}`)}`,
    `    ${paint.green(`+ ${unknown === 'after' ? 'the value of its local config, not known' : shown(after)}${isDefault ? ' (the default: the new config does not set it)' : ''}`)}`,
    ...(needs === 'restart' ? [] : wrap(why, columns, '    ').split('\n')),
    ...(pods.kind === 'new containers only' ? wrap(podsText(pods)!, columns, '    ').split('\n') : []),
    ...(risk === undefined ? [] : wrap(`Risk: ${risk}`, columns, '    ').split('\n')),
    ...(atBoot === undefined ? [] : wrap(`A trial cannot find out: ${atBoot}`, columns, '    ').split('\n')),
  ];
}

/** A text that is empty, or reads as a map or a list, is quoted. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  return typeof value === 'string' && value !== '' && !/^(\{.*\}|\[.*\])$/s.test(value)
    ? oneLine(value)
    : jsonText(value);
}

export function paintNeeds(needs: Needs, paint: Paint): string {
  if (needs === 'none' || needs === 'restart') return paint.green(needs);
  return needs === 'never' || needs === 'reboot' ? paint.red(needs) : paint.yellow(needs);
}
