/** The other side of a D-Bus connection, scripted: it lets everyone in and answers each call as a test wants it. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { decodeMessage, encodeMessage, type Message } from '../src/agent/drivers/systemd/dbus-message.js';

export type Answer = (socket: Socket, call: Message) => void;

/** Listens until the test is over. */
export async function serve(path: string, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  }).listen(path);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return path;
}

export function servePeer(path: string, answer: Answer): Promise<string> {
  return serve(path, (socket) => {
    let received = Buffer.alloc(0);
    let isIn = false;
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!isIn && received.includes('AUTH')) {
        socket.write('OK 00\r\n');
        received = Buffer.alloc(0);
      }
      const begin = isIn ? -1 : received.indexOf('BEGIN\r\n');
      if (begin >= 0) received = received.subarray(begin + 7);
      isIn ||= begin >= 0;
      for (let next = isIn && decodeMessage(received); next; next = decodeMessage(received)) {
        received = received.subarray(next.length);
        answer(socket, next.message);
      }
    });
  });
}

export function reply({ serial }: Message, signature = '', ...body: unknown[]): Buffer {
  return encodeMessage({ kind: 'return', serial: 1, replyTo: serial, signature, body });
}

export function signal(member: string, path: string, signature = '', ...body: unknown[]): Buffer {
  return encodeMessage({ kind: 'signal', serial: 1, path, interface: 'i', member, signature, body });
}
