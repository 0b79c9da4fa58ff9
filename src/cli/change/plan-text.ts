/** Changes of nodes before they are made, as a person reads them: nodes with the same difference once. Pure. */
import { formatRef, refOf } from '../../api/config-ref.js';
import { type Preview, summarize } from '../../fleet/preview.js';
import { previewText } from '../terminal/change-text.js';
import type { TextRoom } from '../terminal/facts.js';
import { hanging, wrap } from '../terminal/terminal.js';
import { namesOf } from './outcome.js';
import type { Plan } from './plan.js';

/** One text for each difference. */
export const planTexts = (plans: Plan[], room: TextRoom): string[] =>
  groupsOf(plans).map((group) => groupText(group, room));

/** Plans with the same difference. Which pods fail, and the names of the ConfigMaps, may differ from node to node. */
function groupsOf(plans: Plan[]): Plan[][] {
  const groups = new Map<string, Plan[]>();
  for (const plan of plans) {
    const lines = plan.preview && previewText({ ...plan.preview, pods: { kind: 'unknown' } }, 80);
    const key = JSON.stringify(lines ?? places(plan));
    groups.set(key, [...(groups.get(key) ?? []), plan]);
  }
  return [...groups.values()];
}

const places = ({ node, to }: Plan): string =>
  `${formatRef(refOf(node.configSource), 'short')} -> ${formatRef(refOf(to), 'short')}`;

function headingOf(group: Plan[]): string {
  const names = namesOf(group.map(({ node }) => node.name));
  const all = new Set(group.map(places));
  return all.size === 1 ? `${names}: ${[...all][0]}` : `${names}:`;
}

function groupText(group: Plan[], terminal: TextRoom): string {
  const lines = [terminal.paint.bold(hanging(headingOf(group), terminal))];
  for (const words of new Set(group.flatMap(({ warnings }) => warnings)))
    lines.push(terminal.paint.red(wrap(`Warning: ${words}`, terminal.columns)));
  const preview = together(group);
  if (preview !== undefined) lines.push(...previewText(preview, terminal.columns, terminal.paint));
  if (preview?.changes.length === 0)
    lines.push(wrap('Impact: kubelet restart, unless its config stays the same byte for byte.', terminal.columns));
  const notes = new Map<string, string[]>();
  for (const plan of group)
    for (const words of plan.notes) notes.set(words, [...(notes.get(words) ?? []), plan.node.name]);
  for (const [words, about] of notes) lines.push(note(terminal, `${namesOf(about)}: ${words}`));
  return `${lines.join('\n')}\n`;
}

/** The same changes on each node; the pods of all of them. */
function together(group: Plan[]): Preview | undefined {
  const previews = group.flatMap(({ preview }) => preview ?? []);
  if (previews.length === 0) return undefined;
  const effects = previews.map(({ pods }) => pods);
  const failures = effects.flatMap((effect) => (effect.kind === 'fail admission' ? effect.pods : []));
  const { pods } = summarize(
    previews.flatMap(({ changes }) => changes),
    failures,
  );
  return { ...previews[0]!, pods };
}

export const note = ({ paint, columns }: TextRoom, text: string): string =>
  paint.yellow(wrap(`Note: ${text}`, columns));
