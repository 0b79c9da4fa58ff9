/** Options of a script, whose head comment is its usage and begins with the command line in backticks. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';

/** Parses the command line. Prints the usage and exits with 0 for --help; exits with 2 for an option that the script does not have. */
export function readOptions(config) {
  const [script] = process.argv.slice(1);
  const head = /^\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(script, 'utf8'))[1].replace(/^ \* ?/gm, '');
  try {
    const parsed = parseArgs({ ...config, options: { ...config.options, help: { type: 'boolean', short: 'h' } } });
    if (!parsed.values.help) return parsed;
    console.log(head);
    process.exit(0);
  } catch (error) {
    if (!error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
    const usage = /`([^`]*)`/.exec(head)[1].replace(/\s+/g, ' ');
    console.error(`${basename(script)}: ${error.message.split('. ')[0]}; usage: ${usage}`);
    process.exit(2);
  }
}
