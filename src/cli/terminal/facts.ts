/** Formats facts as aligned lines, `title: text`, wrapped to the terminal; and lists of nodes with a reason. Pure. */
import { oneLine } from '../../visible-text.js';
import { type Terminal, wrapWords } from './terminal.js';

export type TextRoom = Pick<Terminal, 'columns' | 'width' | 'paint'>;

const indent = 13;

/** Leaves out facts without a text. */
export function factLines(
  facts: readonly (readonly [title: string, text: string | undefined])[],
  room: TextRoom,
): string {
  const line = (title: string, text: string) =>
    `${`${title}:`.padEnd(indent)}${wrapWords(text, room, ' '.repeat(indent)).trimStart()}`;
  return facts.flatMap(([title, text]) => (text === undefined ? [] : [line(title, text)])).join('\n');
}

interface NamedReason {
  name: string;
  reason: string;
  message?: string;
}

/** `count`: of all; more than are named. Empty without nodes. */
export function nodesText(
  title: string,
  nodes: readonly NamedReason[] | undefined,
  count: number | undefined,
  room: TextRoom,
): string {
  if (nodes === undefined || nodes.length === 0) return '';
  const more = (count ?? 0) - nodes.length;
  const lines = [
    ...nodes.map(({ name, reason, message }) => `${name}, ${reason}${message === undefined ? '' : `: ${message}`}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  const item = (text: string) => wrapWords(oneLine(text), room, '    ').replace(/^ {4}/, '  - ');
  return [room.paint.bold(`${title}:`), ...lines.map(item)].join('\n');
}
