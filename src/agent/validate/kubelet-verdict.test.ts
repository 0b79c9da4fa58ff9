/** What the output of a kubelet that was asked about a config means. */
import { expect, test } from 'vitest';
import { impossibleLockFile, readVerdict } from './kubelet-verdict.js';

const line = (letter: string, text: string) => `${letter}1115 20:36:22.473251    1234 server.go:206] ${text}\n`;
const start = line('I', '"Kubelet version" kubeletVersion="v1.32.1"');

test.each([
  [
    'at the lock it has accepted the config',
    line('E', `"command failed" err="unable to acquire file lock on \\"${impossibleLockFile}\\""`),
    'accepted',
  ],
  ['an error line is a refusal', line('E', '"command failed" err="bad value"'), 'refused'],
  ['an error of the command line is a refusal', 'Error: unknown flag: --x\n', 'refused'],
  ['a plain last line is a refusal', 'unknown flag: --x\n', 'refused'],
  ['an information as last line is none: the output was cut off, or it was killed', '', 'unknown'],
  ['a warning as last line is none either', line('W', '"unknown field" path="x"'), 'unknown'],
])('%s', (_name, end, kind) => {
  expect(readVerdict(start + end, 1).kind).toBe(kind);
});
