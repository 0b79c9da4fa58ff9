/** Builds the `relet set` command for a node, quoted for a shell. Pure. */

export interface SetChoices {
  fields: string[];
  accept: string[];
  takeFromSet: boolean;
}

/** One FIELD=VALUE a line; empty lines are none. */
export const fieldsOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function setCommand(name: string, { fields, accept, takeFromSet }: SetChoices): string {
  const words = ['relet', 'set', name, ...fields];
  if (accept.length > 0) words.push(`--accept=${accept.join(',')}`);
  if (takeFromSet) words.push('--take-from-set');
  return words.map(quoted).join(' ');
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
