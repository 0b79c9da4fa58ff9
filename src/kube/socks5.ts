/** A connection through a SOCKS5 proxy (RFC 1928, password login of RFC 1929). Names are resolved by the proxy, as Go does. */
import { connect, isIP, type Socket } from 'node:net';

const replies = [
  'succeeded',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];

export async function connectThroughSocks5(proxy: URL, host: string, port: number): Promise<Socket> {
  const socket = connect(Number(proxy.port || 1080), proxy.hostname.replace(/^\[|\]$/g, ''));
  const read = reader(socket);
  try {
    await greet(socket, read, proxy);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), address(host), Buffer.from([port >> 8, port & 255])]));
    const [, reply = 1, , type] = await read(4);
    if (reply !== 0) throw new Error(replies[reply] ?? `reply ${reply}`);
    // The bound address is not needed, but must be read.
    await read((type === 1 ? 4 : type === 4 ? 16 : (await read(1))[0]!) + 2);
    read.release();
    return socket;
  } catch (error) {
    socket.destroy();
    throw new Error(`proxy ${proxy.host}: socks5 to ${host}:${port}: ${(error as Error).message}`, { cause: error });
  }
}

async function greet(socket: Socket, read: (bytes: number) => Promise<Buffer>, proxy: URL): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  const methods = user.length > 0 ? [0, 2] : [0];
  socket.write(Buffer.from([5, methods.length, ...methods]));
  const [version, method] = await read(2);
  if (version !== 5) throw new Error('not a SOCKS5 server');
  if (method === 0) return;
  if (method !== 2 || user.length === 0) throw new Error('it requires a login');
  socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]));
  if ((await read(2))[1] !== 0) throw new Error('it rejected the user name and password');
}

function address(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (isIP(host) === 6) return Buffer.concat([Buffer.from([4]), ipv6(host)]);
  const name = Buffer.from(host);
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}

function ipv6(host: string): Buffer {
  const [head = '', tail = ''] = host.split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16)));
  const zeros = Array<number>(8 - words(head).length - words(tail).length).fill(0);
  return Buffer.from([...words(head), ...zeros, ...words(tail)].flatMap((word) => [word >> 8, word & 255]));
}

/** Reads exact byte counts from a socket; `release` returns the bytes that are left over to it. */
function reader(socket: Socket): ((bytes: number) => Promise<Buffer>) & { release(): void } {
  let held = Buffer.alloc(0);
  let ended: Error | undefined;
  let wake: () => void = () => {};
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    wake();
  };
  const onEnd = (error?: Error) => {
    ended ??= error instanceof Error ? error : new Error('it closed the connection');
    wake();
  };
  socket.on('data', onData).on('error', onEnd).on('close', onEnd);
  const onTimeout = () => socket.destroy(new Error('no answer in 30 s'));
  socket.setTimeout(30_000).once('timeout', onTimeout);
  const read = async (bytes: number) => {
    while (held.length < bytes) {
      if (ended) throw ended;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  };
  const release = () => {
    socket.setTimeout(0);
    socket.off('timeout', onTimeout).off('data', onData).off('error', onEnd).off('close', onEnd);
    socket.pause();
    if (held.length > 0) socket.unshift(held);
  };
  return Object.assign(read, { release });
}
