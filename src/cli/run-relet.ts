/** Runs relet as a child process for somebody else: with their credential, a time limit, and bounded output. */
import { type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RunOptions, RunRelet } from '../dashboard/server/commands.js';
import { reletExecutable } from './node/kubelet-command.js';

const mostOutputBytes = 16 * 1024 * 1024;
const graceMs = 5000;
/** Enough for a rehearsal of 15,000 nodes; one of many more ends with an error, not with the memory of the machine. */
const mostHeapMB = 1536;
/** The channel between the two closes however this process ends, with SIGKILL too. The child then has nobody to work for. */
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

type Result = Awaited<ReturnType<RunRelet>>;

function run(command: string[], { stdin, timeoutMs, signal, onLine }: RunOptions): Promise<Result> {
  return new Promise((resolve) => {
    // A kubeconfig may name a program that needs the environment; who asks for a command chooses nothing of it.
    const node = [`--max-old-space-size=${mostHeapMB}`, `--import=${endWithParent}`];
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', 'ipc'];
    const child = spawn(process.execPath, [...node, ...command], { stdio }) as ChildProcessWithoutNullStreams;
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
    // It may end before it has read all of it.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin ?? '');
    const finish = (code: number, error: string) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve({ ...collected, code, stderr: `${collected.stderr}${error}` });
    };
    child.once('error', (error) => finish(2, `relet: the command could not be started: ${error.message}\n`));
    child.once('close', (code, by) => {
      if (ended !== '') finish(2, `relet: the command was ended: ${ended}\n`);
      else finish(code ?? 2, by === null ? '' : `relet: the command was ended by ${by}\n`);
    });
  });
}
