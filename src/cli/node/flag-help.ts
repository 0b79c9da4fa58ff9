/** The flags of a process on a node, as `--help` shows them. */
import type { OwnFlag } from '../../agent/options.js';
import { wrap } from '../terminal/terminal.js';

export function flagHelp(flags: Readonly<Record<string, OwnFlag>>): string {
  const lines = Object.entries(flags).map(([name, flag]) => {
    const usage = `--${name}${flag.value ? `=${flag.value}` : ''}`;
    const standard = flag.default === '' || flag.value === undefined ? '' : ` (default ${flag.default})`;
    return `  ${usage}\n${wrap(flag.help + standard, 80, '      ')}\n`;
  });
  return lines.join('');
}
