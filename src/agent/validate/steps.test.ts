/** Reading the output of a kubelet that was run to validate a config. */
import { expect, test } from 'vitest';
import { impossibleLockFile, probeKubelet, readProbe } from './steps.js';

const lockFile = impossibleLockFile('0a1b');

const line = (letter: string, text: string) => `${letter}1115 20:36:22.473251    1234 server.go:206] ${text}\n`;
const start = line('I', '"Kubelet version" kubeletVersion="v1.32.1"');

test.each([
  [
    'a kubelet that stops at the lock accepts it',
    line('E', `"command failed" err="unable to acquire file lock on \\"${lockFile}\\""`),
    'accepted',
  ],
  [
    'so does one that logs in JSON',
    `{"ts":1,"caller":"app/run.go:72","msg":"command failed","err":"unable to acquire file lock on \\"${lockFile}\\": no"}\n`,
    'accepted',
  ],
  [
    'a document that has the words of the lock is not accepted for them: the kubelet quotes it and stops elsewhere',
    line(
      'E',
      `"command failed" err="Object 'Kind' is missing in 'unable to acquire file lock on \\"${impossibleLockFile('')}\\"'"`,
    ),
    'rejected',
  ],
  [
    'the words of the lock in an earlier line are not an answer',
    line('E', `"x" err="unable to acquire file lock on \\"${lockFile}\\""`) + line('E', '"command failed" err="bad"'),
    'rejected',
  ],
  [
    'an error of several lines, in which the kubelet quotes a document, rejects it',
    `${line('E', '"command failed" err=<')}\tObject 'Kind' is missing in 'x: 1\n\t'\n >\n`,
    'rejected',
  ],
  ['an error line rejects it', line('E', '"command failed" err="bad value"'), 'rejected'],
  ['an error of the command line rejects it', 'Error: unknown flag: --x\n', 'rejected'],
  ['a plain last line rejects it', 'unknown flag: --x\n', 'rejected'],
  ['an information as last line is not an answer: the output was cut off, or it was killed', '', 'unknown'],
  ['a warning as last line is not an answer either', line('W', '"unknown field" path="x"'), 'unknown'],
])('%s', (_name, end, kind) => {
  expect(readProbe(start + end, 1, lockFile).kind).toBe(kind);
});

test('two probes have two names of the lock, so that no config can know it', async () => {
  const given: string[] = [];
  let count = 0;
  const run = async (args: string[]) => {
    given.push(args.at(-1)!);
    return { code: 1, timedOut: false, output: line('E', `err="unable to acquire file lock on \\"${lockFile}\\""`) };
  };
  const probe = { run, uuid: () => `${count++}` };
  expect((await probeKubelet(probe, [])).kind).toBe('rejected');
  expect((await probeKubelet(probe, [])).kind).toBe('rejected');
  expect(given).toEqual([0, 1].map((uuid) => `--lock-file=${impossibleLockFile(`${uuid}`)}`));
});

test('an error of several lines is reported whole', () => {
  const quoted = `${line('E', '"command failed" err=<')}\tObject 'Kind' is missing in 'x: 1\n\ty: 2'\n >\n`;
  expect(readProbe(start + quoted, 1, lockFile)).toMatchObject({ message: "Object 'Kind' is missing in 'x: 1\ny: 2'" });
});
