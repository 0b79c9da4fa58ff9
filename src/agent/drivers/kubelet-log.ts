/** The last lines that the kubelet logged: from its --log-file, or from the journal of the unit that relet runs in. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { quietly } from '../../proc.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { RunCommand } from './command.js';

export interface KubeletLogSource {
  /** The kubelet's --log-file. */
  file: string | undefined;
  /** Undefined outside of a systemd service. */
  unit: string | undefined;
  run: RunCommand;
}

/** As in the schema of NodeConfig. */
const mostLines = 20;
const longestLine = 500;
const tailBytes = 65_536;
const timeoutMs = 2000;

/** Undefined where neither can be read. Never rejects. */
export async function readKubeletLog({ file, unit, run }: KubeletLogSource): Promise<string[] | undefined> {
  const text = file ? quietly(() => tailOf(file)) : unit && (await journalOf(unit, run));
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  return lines.slice(-mostLines).map((line) => shorten(oneLine(line.trimEnd()), longestLine));
}

async function journalOf(unit: string, run: RunCommand): Promise<string | undefined> {
  const command = ['journalctl', '-u', unit, '-n', String(mostLines), '--output=cat', '--no-pager'];
  const { code, stdout } = await run(command, timeoutMs).catch(() => ({ code: null, stdout: '' }));
  return code === 0 ? stdout : undefined;
}

function tailOf(file: string): string {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const tail = Buffer.alloc(Math.min(size, tailBytes));
    const length = readSync(fd, tail, 0, tail.length, size - tail.length);
    return tail.toString('utf8', 0, length);
  } finally {
    closeSync(fd);
  }
}
