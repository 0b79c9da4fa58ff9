/**
 * A connection to a message bus, or directly to a service such as systemd's own socket: calls and signals over a Unix socket. A
 * connection that ends is not opened again here: its calls fail, `closed` fires, and the owner opens another one.
 */
import { connect, type Socket } from 'node:net';
import { decodeMessage, encodeMessage, type Message } from './dbus-message.js';

export interface Call {
  /** The service on a bus; left out where the socket is the service's own. */
  destination?: string;
  path: string;
  interface: string;
  member: string;
  signature?: string;
  body?: unknown[];
}

/** The other side answered with an error, such as `org.freedesktop.systemd1.NoSuchUnit`. */
export class CallFailed extends Error {
  readonly errorName: string;

  constructor({ member }: Call, errorName: string, message: string) {
    super(`${member}: ${message || errorName}`);
    this.errorName = errorName;
  }
}

export interface DBusOptions {
  path: string;
  /** A bus requires Hello, and sends only signals that were subscribed to. */
  isBus: boolean;
  /** Rules for the signals to receive from a bus. */
  matches?: string[];
  onSignal(signal: Message): void;
  /** User id for the authentication. Default that of this process. */
  uid?: number;
}

interface Waiting {
  call: Call;
  resolve(body: unknown[]): void;
  reject(error: Error): void;
}

const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

export class DBus {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onSignal: (signal: Message) => void;
  readonly #closed = new AbortController();
  #serial = 0;
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket, onSignal: (signal: Message) => void) {
    this.#socket = socket;
    this.#onSignal = onSignal;
  }

  /** Rejects when there is no such socket, or the other side does not let this user in. */
  static async open(options: DBusOptions): Promise<DBus> {
    const { path, isBus, matches = [], onSignal, uid = process.getuid?.() ?? 0 } = options;
    const socket = connect(path);
    try {
      await authenticate(socket, uid);
    } catch (cause) {
      socket.destroy();
      throw new Error(`connect to ${path}`, { cause });
    }
    const opened = new DBus(socket, onSignal);
    opened.#receive();
    if (isBus) {
      await opened.call({ ...bus, member: 'Hello' });
      for (const rule of matches) await opened.call({ ...bus, member: 'AddMatch', signature: 's', body: [rule] });
    }
    return opened;
  }

  /** Fires when the connection is over. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  call(call: Call): Promise<unknown[]> {
    if (this.#closed.signal.aborted) return Promise.reject(new Error(`${call.member}: the connection is closed`));
    const serial = ++this.#serial;
    return new Promise((resolve, reject) => {
      this.#waiting.set(serial, { call, resolve, reject });
      this.#socket.write(encodeMessage({ kind: 'call', serial, ...call, body: call.body ?? [] }));
    });
  }

  close(): void {
    this.#socket.destroy();
    this.#end(new Error('closed'));
  }

  #receive(): void {
    const socket = this.#socket;
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the other side has closed the connection')));
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      try {
        for (let next = decodeMessage(this.#received); next !== undefined; next = decodeMessage(this.#received)) {
          this.#received = this.#received.subarray(next.length);
          this.#handle(next.message);
        }
      } catch (error) {
        socket.destroy();
        this.#end(error as Error);
      }
    });
  }

  #handle(message: Message): void {
    const { kind, body, errorName = '', replyTo = 0 } = message;
    const waiting = this.#waiting.get(replyTo);
    this.#waiting.delete(replyTo);
    if (kind === 'signal') this.#onSignal(message);
    else if (kind === 'return') waiting?.resolve(body);
    else waiting?.reject(new CallFailed(waiting.call, errorName, typeof body[0] === 'string' ? body[0] : ''));
  }

  #end(cause: Error): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    for (const { call, reject } of this.#waiting.values())
      reject(new Error(`${call.member}: the connection ended`, { cause }));
    this.#waiting.clear();
  }
}

/** The kernel proves who we are; the user id is only repeated. Resolves when messages may follow. */
function authenticate(socket: Socket, uid: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const hex = Buffer.from(String(uid)).toString('hex');
    socket.write(`\0AUTH EXTERNAL ${hex}\r\n`);
    let answer = '';
    const settle = (error?: Error) => {
      socket.off('data', onData).off('error', settle).off('close', onClose);
      if (error) reject(error);
      else resolve();
    };
    const onClose = () => settle(new Error('closed during authentication'));
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (!answer.includes('\r\n')) return;
      if (!answer.startsWith('OK ')) return settle(new Error(`authentication as user ${uid}: ${answer.trim()}`));
      socket.write('BEGIN\r\n');
      settle();
    };
    socket.on('data', onData).on('error', settle).on('close', onClose);
  });
}
