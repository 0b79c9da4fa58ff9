/** Runs relet as a child process with the credential of a user, a time limit and bounded output. For the dashboard. */
import { type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RunOptions, RunRelet, RunResult } from '../dashboard/server/children.js';
import { heapOf } from '../dashboard/server/places.js';
import { quietly, statOf } from '../proc.js';
import { reletExecutable } from './node/kubelet-command.js';

const mostOutputBytes = 16 * 1024 * 1024;
const graceMs = 5000;
/** Below the server, so that it answers while children compute. */
const niceness = 10;
/** CPU time before that: an ordinary answer takes some 200 ms, and would starve on a busy machine while somebody waits for it. */
const promptCpuMs = 1000;
const lookMs = 200;
/** V8 ends a process whose heap is full with one of these. */
const outOfMemory: ReadonlySet<NodeJS.Signals> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);
/** The channel between the two closes however this process ends, with SIGKILL too. The child then exits. */
const endWithParent = "data:text/javascript,process.once('disconnect',()=>process.exit(143)).channel.unref()";

export const runRelet: RunRelet = async (args, options) => {
  const dir = mkdtempSync(join(tmpdir(), 'relet-dashboard-'));
  try {
    const kubeconfig = join(dir, 'kubeconfig');
    writeFileSync(kubeconfig, options.kubeconfig, { mode: 0o600 });
    return await run([reletExecutable(), ...args, `--kubeconfig=${kubeconfig}`], options);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

function run(command: string[], { stdin, timeoutMs, memoryMB, signal, onLine }: RunOptions): Promise<RunResult> {
  return new Promise((resolve) => {
    // A kubeconfig may name a program that needs the environment; the client of the dashboard cannot influence it.
    const node = [`--max-old-space-size=${heapOf(memoryMB)}`, `--import=${endWithParent}`];
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', 'ipc'];
    const child = spawn(process.execPath, [...node, ...command], { stdio }) as ChildProcessWithoutNullStreams;
    const stopLooking = giveWayWhenLong(child.pid);
    let ended = '';
    const end = (why: string) => {
      ended ||= why;
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), graceMs).unref();
    };
    const timer = setTimeout(() => end(`it did not end within ${timeoutMs / 1000} s`), timeoutMs);
    const onAbort = () => end('nobody waits for it any more');
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const collected = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (collected[name].length + text.length > mostOutputBytes) end('its output is too long');
        else collected[name] += text;
      });
    if (onLine) createInterface({ input: child.stderr }).on('line', onLine);
    // The child may exit before it has read all of its input.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin ?? '');
    const finish = (result: RunResult) => {
      clearTimeout(timer);
      stopLooking();
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    };
    child.once('error', ({ message }) =>
      finish({ ...collected, code: 2, stderr: `relet: the command could not be started: ${message}\n` }),
    );
    child.once('close', (code, by) => {
      if (by !== null && outOfMemory.has(by)) ended ||= `it needed more than ${memoryMB} MB of memory`;
      else if (by !== null) ended ||= `it was ended by ${by}`;
      if (ended === '') finish({ ...collected, code: code ?? 2 });
      else finish({ ...collected, code: 2, stderr: `relet: the command was ended: ${ended}\n`, ended });
    });
  });
}

/** Lowers the priority of a child that has computed for a while. Where the system does not show how long, at once. */
function giveWayWhenLong(pid: number | undefined): () => void {
  const timer = setInterval(() => {
    const cpuMs = pid === undefined ? undefined : statOf(pid)?.cpuMs;
    if (cpuMs !== undefined && cpuMs < promptCpuMs) return;
    clearInterval(timer);
    if (pid !== undefined) quietly(() => setPriority(pid, Math.max(niceness, getPriority())));
  }, lookMs);
  return () => clearInterval(timer);
}
