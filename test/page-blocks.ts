/**
 * Reads the examples out of a Markdown page, so that a test can run them:
 *
 *     ```yaml file=node.yaml     a file the commands below it use
 *     ```console                 `$ command`, then what it prints; `…` stands for anything, alone on a line for any lines
 *     $ relet config validate node.yaml        a line ending in `# exits 1` must end that way
 *     ```
 *     ```sh                      commands that must succeed, whatever they print
 *
 * After `console` or `sh` may stand `needs=PROGRAM,PROGRAM` (skipped by name where one is missing), `eventually` (asked again
 * until it is so), `stays` (runs as long as the page does), or `not-run="REASON"`. All commands of a page share one shell.
 */

export interface Command {
  command: string;
  status: number;
  /** Undefined: whatever it prints. */
  output: string | undefined;
  /** Line in the page. */
  line: number;
}

export type Block =
  | { kind: 'file'; name: string; text: string; line: number }
  | {
      kind: 'commands';
      commands: Command[];
      needs?: string[];
      notRun?: string;
      eventually: boolean;
      stays: boolean;
      line: number;
    };

export function readBlocks(page: string): Block[] {
  const blocks: Block[] = [];
  const lines = page.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(\w+)(.*)$/.exec(lines[at]!);
    if (fence === null) continue;
    const end = lines.indexOf('```', at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: the block has no end`);
    const block = readBlock(fence[1]!, fence[2]!, lines.slice(at + 1, end), at + 2);
    if (block !== undefined) blocks.push(block);
    at = end;
  }
  return blocks;
}

function readBlock(language: string, info: string, body: string[], line: number): Block | undefined {
  const file = /file=(\S+)/.exec(info)?.[1];
  if (file !== undefined) return { kind: 'file', name: file, text: `${body.join('\n')}\n`, line };
  if (language !== 'console' && language !== 'sh') return undefined;
  const needs = /needs=(\S+)/.exec(info)?.[1]?.split(',');
  const notRun = /not-run="([^"]+)"/.exec(info)?.[1];
  const commands = language === 'console' ? transcript(body, line) : script(body, line);
  const words = info.split(/\s+/);
  const [eventually, stays] = [words.includes('eventually'), words.includes('stays')];
  return { kind: 'commands', commands, line, eventually, stays, ...(needs && { needs }), ...(notRun && { notRun }) };
}

function script(body: string[], line: number): Command[] {
  return [{ command: body.join('\n'), status: 0, output: undefined, line }];
}

function transcript(body: string[], line: number): Command[] {
  const commands: Command[] = [];
  for (const [index, text] of body.entries()) {
    const last = commands.at(-1);
    if (text.startsWith('$ ')) {
      const status = Number(/# exits (\d+)$/.exec(text)?.[1] ?? 0);
      commands.push({ command: text.slice(2).replace(/\s*# exits \d+$/, ''), status, output: '', line: line + index });
    } else if (last === undefined) throw new Error(`line ${line + index}: a console block begins with a '$ command'`);
    else if (text.startsWith('> ') && last.output === '') last.command += `\n${text.slice(2)}`;
    else last.output += `${text}\n`;
  }
  return commands;
}

/** Texts that differ from run to run on a page that has a running system, and their patterns. */
const volatile: [RegExp, string][] = [
  [/127\.0\.0\.1:\d{4,5}/, '127\\.0\\.0\\.1:\\d+'],
  [/127\.\d+\.\d+\.\d+/, '127\\.\\d+\\.\\d+\\.\\d+'],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '[0-9a-f-]{36}'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/, '\\S+Z'],
  [/(?<=-config-)[b-df-hj-np-tv-z2456789mkth]{10}/, '[a-z0-9]{10}'],
  [/(?<=esourceVersion\S* ?"?)\d+/, '\\d+'],
  [/(?<=version )\d+/, '\\d+'],
  [/(?<=pid )\d+/, '\\d+'],
  // Nodes become Ready in any order.
  [/node-\d(?= +Ready after)/, 'node-\\d'],
  [/\b\d+m\d+s\b/, '\\d+m\\d+s'],
  [/\b\d+(?:\.\d+)? ?s\b/, '[\\dm.]+ ?s'],
  [/ {2,}/, ' +'],
];

/** Whether what was printed is what the page shows, `…` standing for anything. */
export function outputPattern(shown: string, { isLoose = false } = {}): RegExp {
  const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const loosely = new RegExp(volatile.map(([pattern]) => `(${pattern.source})`).join('|'), 'g');
  const source = (text: string): string => {
    if (!isLoose) return literally(text);
    let done = 0;
    let made = '';
    for (const match of text.matchAll(loosely)) {
      const which = match.slice(1).findIndex((group) => group !== undefined);
      made += literally(text.slice(done, match.index)) + volatile[which]![1];
      done = match.index + match[0].length;
    }
    return made + literally(text.slice(done));
  };
  const whole = shown
    .trimEnd()
    .split(/^…$\n?/m)
    .map((part) => part.split('…').map(source).join('.*'))
    .join('(?:.*\\n)*?(?:.*$)?');
  return new RegExp(`^${whole}\\s*$`);
}
