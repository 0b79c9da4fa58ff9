/**
 * Lock that allows one agent per host, in a pod or on the host itself: a Unix socket in the host's /run. Pods do not see each other's
 * processes, but they see this socket. It answers as long as its holder lives, and the kernel closes it when the holder exits.
 */
import { statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { dirname } from 'node:path';
import { makeDirectory } from '../../../make-directory.js';
import { quietly } from '../../../proc.js';

export interface AgentLock {
  /** Throws when the socket is another agent's now. */
  check(): void;
  release(): Promise<void>;
}

const attempts = 5;

/** Rejects if another agent runs. */
export async function takeAgentLock(path: string): Promise<AgentLock> {
  makeDirectory(dirname(path));
  for (let attempt = 0; attempt < attempts; attempt++) {
    const server = await listen(path);
    if (server !== undefined) return held(path, server);
    if (await answers(path)) throw anotherAgent(path);
    // Its holder is gone. Of two that find that out at once, check() leaves one.
    quietly(() => unlinkSync(path));
  }
  throw new Error(`lock ${path}: other agents take and release it continuously`);
}

const anotherAgent = (path: string): Error =>
  new Error(`lock ${path}: another relet agent runs on this host; remove one of the two`);

function held(path: string, server: Server): AgentLock {
  server.unref();
  const inode = statSync(path).ino;
  return {
    check() {
      if (quietly(() => statSync(path).ino) !== inode) throw anotherAgent(path);
    },
    release: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Undefined when there is a socket. */
function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(new Error(`lock ${path}`, { cause: error })),
    );
    server.listen(path, () => resolve(server));
  });
}

/** Whether an agent runs on this host, also in a pod whose processes cannot be seen. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
