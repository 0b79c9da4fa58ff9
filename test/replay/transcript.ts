/** Transcripts of kubectl: a command, its exit code, what it printed; and how our own output is made comparable to them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from './kubectl.js';

export interface Transcript extends Outcome {
  /** Such as 025-get-cm. */
  name: string;
  command: string;
}

export function readTranscripts(folder: string): Transcript[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const match = /^\$ ([\s\S]*?)\nexit (\d+)\n--- stdout\n([\s\S]*?)\n?--- stderr\n([\s\S]*)$/.exec(text);
      if (match === null) throw new Error(`${file}: not a transcript`);
      const [, command = '', exit = '', stdout = '', stderr = ''] = match;
      return {
        name: file.replace(/\.txt$/, ''),
        command,
        exit: Number(exit),
        stdout,
        stderr: stderr.replace(/\n$/, ''),
      };
    });
}

/** Returns the difference between the two, as two texts; undefined if there is none. */
export function unlike(actual: Outcome, expected: Transcript): string | undefined {
  const shown = (outcome: Outcome) =>
    `exit ${outcome.exit}\n--- stdout\n${outcome.stdout.trimEnd()}\n--- stderr\n${outcome.stderr.trimEnd()}`;
  const printed = {
    exit: actual.exit,
    stdout: normalise(actual.stdout, expected),
    stderr: normalise(actual.stderr, expected),
  };
  const [got, want] = [shown(printed), shown(expected)];
  return got === want ? undefined : `$ ${expected.command}\n--- want\n${want}\n--- got\n${got}`;
}

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\b(?!2024)\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z| [+-]\d{4})?/g;

function normalise(text: string, { command }: Transcript): string {
  let result = withoutManagedFields(text)
    .replace(uid, '<uid>')
    .replace(time, '<time>')
    .replace(/(resourceVersion: )"\d+"/g, '$1"<rv>"')
    .replace(/(Resource Version:\s+)\d+/g, '$1<rv>')
    .replace(/\/tmp\/(LIVE|MERGED)-\d+/g, '/tmp/$1-<n>')
    .replace(/^[EIW]\d{4} [\d:.]+\s+\d+ (\S+?\.go):\d+\]/gm, '<log> $1]')
    .replace(/^(WARNING: version difference|WARNING: This version information is deprecated|Warning: v\d).*\n/gm, '')
    .replace(/(?<=\S) {2,}/g, '  ')
    .replace(/\n{3,}/g, '\n\n');
  if (/\bkubectl version\b/.test(command)) result = result.replace(/(Version: ).*/g, '$1<version>');
  if (/ explain configmap/.test(command)) result = headings(result);
  return withAges(result);
}

/** Ages are the last column of tables, or the first of events. */
function withAges(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      line.replace(/(?<= {2})(\d+[smhdy]){1,2}(?= {2}|$)/g, '<age>').replace(/^(\d+[smhdy]){1,2}(?= {2})/, '<age>'),
    )
    .join('\n');
}

function headings(text: string): string {
  const isKept = (line: string) => /^(KIND|VERSION|GROUP|FIELDS|FIELD|RESOURCE):/.test(line) || /^\s+\S+\t</.test(line);
  return text.split('\n').filter(isKept).join('\n');
}

/** YAML and describe show them only with some clients; the records leave them out, except inside a diff. */
function withoutManagedFields(text: string): string {
  if (/^diff /.test(text)) return text;
  const kept: string[] = [];
  let skippingAt = -1;
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/);
    const isInside = skippingAt >= 0 && (indent > skippingAt || (indent === skippingAt && line[indent] === '-'));
    if (!isInside) skippingAt = /^\s*(managedFields|Managed Fields):/.test(line) ? indent : -1;
    if (skippingAt < 0) kept.push(line);
  }
  return kept.join('\n');
}
