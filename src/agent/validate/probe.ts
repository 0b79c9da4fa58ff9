/**
 * Lets the kubelet binary itself validate a config, without starting it: with its lock file in a directory that does not
 * exist, a kubelet decodes, applies flags, validates, sets up TLS and then stops at the lock, before it changes anything.
 * True of every kubelet from 1.11 to 1.37.
 */

export interface KubeletProbe {
  /** Runs the kubelet with these arguments and collects what it prints. Kills it after `timeoutMs`. */
  run(args: string[], timeoutMs: number): Promise<{ code: number | null; output: string; timedOut: boolean }>;
}

export type ProbeResult =
  | { kind: 'accepted'; output: string }
  | { kind: 'rejected'; message: string; output: string }
  /** No answer: it could not be run, ran into the timeout, or printed nothing that we know. */
  | { kind: 'unknown'; reason: string };

/** Its parent does not exist, and cannot be made below a device. */
export const impossibleLockFile = '/dev/null/relet-asks/lock';

/** How long a kubelet may take to come to its lock; a busy node needs seconds, a hung one must not hold up the change. */
const timeoutMs = 20_000;

/** `args` are those of the start that is asked about, the config among them. */
export async function probeKubelet(probe: KubeletProbe, args: string[]): Promise<ProbeResult> {
  let answer: Awaited<ReturnType<KubeletProbe['run']>>;
  try {
    answer = await probe.run([...args, `--lock-file=${impossibleLockFile}`], timeoutMs);
  } catch (error) {
    return { kind: 'unknown', reason: `could not run the kubelet: ${(error as Error).message}` };
  }
  if (answer.timedOut) return { kind: 'unknown', reason: `the kubelet gave no answer within ${timeoutMs / 1000} s` };
  return readProbe(answer.output, answer.code);
}

export function readProbe(output: string, code: number | null): ProbeResult {
  if (
    output.includes(`unable to acquire file lock on "${impossibleLockFile}"`) ||
    output.includes(`unable to acquire file lock on \\"${impossibleLockFile}\\"`)
  )
    return { kind: 'accepted', output };
  const message = lastError(output);
  if (code === 0 || message === undefined)
    return { kind: 'unknown', reason: `the kubelet ended with ${code} and nothing about the config` };
  return { kind: 'rejected', message, output };
}

/** An information or a warning does not show why a kubelet exited. */
const notice = /^[IW]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] /;
const klog = /^[EF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] (.*)$/;

/** The last error line: klog (`E1115 … server.go:206] "…" err="…"`), a cobra `Error: …`, or a panic. */
function lastError(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trimEnd());
  const errorLine = lines.findLast(
    (line) => klog.test(line) || line.startsWith('Error: ') || line.startsWith('panic: '),
  );
  if (errorLine === undefined) return lines.findLast((line) => line !== '' && !notice.test(line));
  const text = klog.exec(errorLine)?.[1] ?? errorLine.replace(/^Error: /, '');
  const quoted = /err="((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  return quoted === undefined ? text : quoted.replace(/\\(["\\n])/g, (_, char) => (char === 'n' ? '\n' : char));
}
