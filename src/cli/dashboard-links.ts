/**
 * Creates login links to the dashboard of a running `relet up`: its process listens on a socket beside the kubeconfig, which only the
 * same user can open, and `relet dashboard --link` prints a new link.
 */
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CannotRun } from '../cannot-run.js';
import { kubeconfigPaths } from '../kube/kubeconfig.js';

const socketBeside = (kubeconfig: string): string => join(dirname(kubeconfig), 'dashboard.sock');

/** Until the signal fires. */
export function offerLinks(kubeconfig: string, newLink: () => string, signal: AbortSignal): void {
  const path = socketBeside(kubeconfig);
  rmSync(path, { force: true });
  const server = createServer((socket) => socket.on('error', () => {}).end(newLink()));
  // Without the socket the dashboard works all the same.
  server.on('error', () => {});
  const before = process.umask(0o177);
  server.listen(path);
  process.umask(before);
  signal.addEventListener('abort', () => server.close());
}

export async function readLink(explicit: string | undefined): Promise<string> {
  const { paths } = kubeconfigPaths({ explicit, env: process.env });
  try {
    return await text(connect(socketBeside(paths[0]!)));
  } catch {
    throw new CannotRun(
      `no dashboard of 'relet up' is running beside ${paths[0]}; 'relet dashboard' without --link serves one`,
    );
  }
}
