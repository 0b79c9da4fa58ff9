/** Reading the output of a kubelet that was run to validate a config. */
import { expect, test } from 'vitest';
import { impossibleLockFile, readProbe } from './steps.js';

const line = (letter: string, text: string) => `${letter}1115 20:36:22.473251    1234 server.go:206] ${text}\n`;
const start = line('I', '"Kubelet version" kubeletVersion="v1.32.1"');

test.each([
  [
    'a kubelet that stops at the lock accepts it',
    line('E', `"command failed" err="unable to acquire file lock on \\"${impossibleLockFile}\\""`),
    'accepted',
  ],
  ['an error line rejects it', line('E', '"command failed" err="bad value"'), 'rejected'],
  ['an error of the command line rejects it', 'Error: unknown flag: --x\n', 'rejected'],
  ['a plain last line rejects it', 'unknown flag: --x\n', 'rejected'],
  ['an information as last line is not an answer: the output was cut off, or it was killed', '', 'unknown'],
  ['a warning as last line is not an answer either', line('W', '"unknown field" path="x"'), 'unknown'],
])('%s', (_name, end, kind) => {
  expect(readProbe(start + end, 1).kind).toBe(kind);
});
