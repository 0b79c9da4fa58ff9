/** `relet up --detach`: starts the cluster in the background, shows its progress, and leaves it running. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { CannotRun } from '../../cannot-run.js';
import { openSystemDirectory, turnLog } from '../../lab/up/directory.js';
import { reletExecutable } from '../node/kubelet-command.js';
import { openTerminal } from '../terminal/terminal.js';
import { forScreen, type Message } from './narrator.js';

/** Exits with 1 when a node is not Ready in time; the cluster keeps running. */
export async function startInBackground(args: string[], dataDir: string): Promise<void> {
  const { print, width } = openTerminal();
  const { log } = openSystemDirectory(dataDir);
  turnLog(log);
  const out = openSync(log, 'a', 0o600);
  const command = [reletExecutable(), 'up', ...withoutDetach(args)];
  // The channel is the fourth stream; when we are gone, the child has no one to report to and continues.
  const child = spawn(process.execPath, command, { stdio: ['ignore', out, out, 'ipc'], detached: true });
  closeSync(out);
  // Ctrl-C while it starts: it is not in our process group, so the signal is passed on.
  const giveUp = () => child.kill('SIGTERM');
  process.once('SIGINT', giveUp).once('SIGTERM', giveUp);
  const late = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if (message.kind === 'line') print(forScreen(message.text, width));
      else if (message.kind === 'failed') reject(new CannotRun(message.why));
      else resolve(message.late);
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new CannotRun(`it exited (${signal ?? code}); its log: ${log}`)));
  });
  child.disconnect();
  child.unref();
  if (late > 0) process.exitCode = 1;
}

function withoutDetach(args: string[]): string[] {
  const end = args.indexOf('--');
  return args.filter((word, index) => word !== '--detach' || (end >= 0 && index > end));
}
