/** The systemd files of deploy/systemd are read by systemd itself, and docs/install.md explains each line that matters. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from './programs.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const repository = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(repository, name), 'utf8');
const systemd = needs('systemd-analyze');

/** Returns the findings of systemd in a unit and its drop-in; a line that it would ignore counts too. */
function verify(unit: string, dropIn?: string): string {
  const dir = temporaryDir();
  // systemd wants to see the program, which is not installed here. A path in a unit has no space.
  const program = join(dir, 'relet');
  symlinkSync(executable, program);
  const place = (text: string) => text.replaceAll('/usr/local/bin/relet', program);
  const file = join(dir, 'kubelet.service');
  writeFileSync(file, place(unit));
  if (dropIn !== undefined) {
    mkdirSync(`${file}.d`);
    writeFileSync(join(`${file}.d`, '20-relet.conf'), place(dropIn));
  }
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  return stdout + stderr + (status === 0 ? '' : `exit ${status}`);
}

const plainKubelet = '[Service]\nExecStart=/bin/true\n';
const dropIn = read('deploy/systemd/20-relet.conf');
const unit = read('deploy/systemd/kubelet.service');

describe.skipIf(systemd.isMissing)(`deploy/systemd${systemd.note}`, () => {
  test('systemd accepts every line of the unit', () => expect(verify(unit)).toBe(''));
  test('systemd accepts every line of the service of the agent', () =>
    expect(verify(read('deploy/systemd/relet-agent.service'))).toBe(''));
  test('systemd accepts every line of the drop-in', () => expect(verify(plainKubelet, dropIn)).toBe(''));
  test('systemd reports a line that it does not accept', () =>
    expect(verify(plainKubelet, dropIn.replace('KillMode=', 'KilMode='))).toContain('KilMode'));
});

test('what the page explains is in both files, and neither is sandboxed', () => {
  const page = read('docs/install.md');
  const explained = [...page.matchAll(/^\| `([A-Z]\w+=\S+)` \|/gm)].map(([, line]) => line!);
  expect(explained).toContain('KillMode=mixed');
  expect(explained).toContain('NotifyAccess=all');
  for (const text of [unit, dropIn]) {
    const lines = text.split('\n');
    for (const line of explained) expect(lines).toContain(line);
    expect(text).not.toMatch(/^(Protect|Private|ReadOnly|Restrict|SystemCallFilter|NoNewPrivileges)/m);
  }
});
