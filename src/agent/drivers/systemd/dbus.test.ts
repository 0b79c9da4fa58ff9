/** D-Bus: messages in bytes, and a connection to a private dbus-daemon where there is one. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, serve, servePeer } from '../../../../test/dbus-peer.js';
import { Program } from '../../../../test/program.js';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { CallFailed, DBus } from './dbus.js';
import { decodeMessage, encodeMessage, type Message, typesIn, variant } from './dbus-message.js';

const call: Message = { kind: 'call', serial: 7, path: '/a', interface: 'i.i', member: 'M', body: [] };

const many = Array.from({ length: 500 }, (_none, at) => 'x'.repeat(at % 9));

describe('a message', () => {
  test.each<[string, string, unknown[], unknown[]]>([
    ['numbers, each aligned', 'ybnqiuxtd', [1, true, -2, 3, -4, 5, -6, 7, 0.5], [1, true, -2, 3, -4, 5, -6, 7, 0.5]],
    ['texts', 'sog', ['kubelet.service', '/org', 'a{sv}'], ['kubelet.service', '/org', 'a{sv}']],
    ['many texts', 'as', [many], [many]],
    ['text that is not ASCII', 's', ['über'], ['über']],
    ['an empty array of structures', 'a(st)y', [[], 9], [[], 9]],
    ['a variant, as the value in it', 'v', [variant('as', ['a', 'b'])], [['a', 'b']]],
    ['a dictionary, as an object', 'a{sv}', [[['Id', variant('s', 'x')]]], [{ Id: 'x' }]],
    [
      'the properties of a transient unit',
      'ssa(sv)a(sa(sv))',
      ['u', 'fail', [['ExecStart', variant('a(sasb)', [['/bin/ls', ['ls', '-l'], false]])]], []],
      ['u', 'fail', [['ExecStart', [['/bin/ls', ['ls', '-l'], false]]]], []],
    ],
  ])('carries %s', (_name, signature, body, expected) => {
    const bytes = encodeMessage({ ...call, signature, body });
    expect(decodeMessage(bytes)).toEqual({ message: { ...call, signature, body: expected }, length: bytes.length });
  });

  /** A message with a value of the signature, whose bytes are replaced. */
  const withBody = (signature: string, value: unknown, ...body: number[]) => {
    const bytes = encodeMessage({ ...call, signature, body: [value] });
    const header = bytes.subarray(0, bytes.length - bytes.readUInt32LE(4));
    header.writeUInt32LE(body.length, 4);
    return Buffer.concat([header, Buffer.from(body)]);
  };
  const variants = (depth: number) => Array.from({ length: depth }, () => [1, 0x76, 0]).flat();

  test.each<[string, Buffer, string]>([
    ['a text beyond its end', withBody('s', '', 200, 0, 0, 0, 0x61, 0), 'a value goes beyond the end of its message'],
    ['an array beyond its end', withBody('ay', [], 200, 0, 0, 0, 1), 'a value goes beyond the end of its message'],
    ['an array that ends in an item', withBody('an', [], 3, 0, 0, 0, 1, 0, 1, 0), 'an array is not as long as it says'],
    ['a variant without a value', withBody('v', variant('y', 1), 0, 0), 'a variant has one value'],
    [
      'an array of structures without members',
      withBody('v', variant('y', 1), 3, 0x61, 0x28, 0x29, 0, 8, 0, 0, 0),
      'not a type: a()',
    ],
    [
      'variants in each other without end',
      withBody('v', variant('y', 1), ...variants(9999)),
      'more than 64 values in each other',
    ],
  ])('is not read with %s, also when more bytes follow', (_name, bytes, problem) => {
    expect(() => decodeMessage(Buffer.concat([bytes, Buffer.alloc(500, 1)]))).toThrow(`D-Bus: ${problem}`);
  });

  test('is complete only with its last byte, and what follows is the next one', () => {
    const bytes = encodeMessage({ ...call, signature: 's', body: ['x'.repeat(300)] });
    for (const end of [0, 15, 16, bytes.length - 1]) expect(decodeMessage(bytes.subarray(0, end))).toBeUndefined();
    expect(decodeMessage(Buffer.concat([bytes, bytes]))?.length).toBe(bytes.length);
  });

  test('may be big-endian, as on s390x', () => {
    const parts = ['42020101', '00000008', '00000005', '0000000f', '0501750000000002', '0801670001730000'];
    const bytes = Buffer.from(`${parts.join('')}0000000378797a00`, 'hex');
    expect(decodeMessage(bytes)?.message).toMatchObject({ kind: 'return', serial: 5, replyTo: 2, body: ['xyz'] });
  });

  test.each(['(s', 'a', 'a{s', 'z'])('the signature %s is not one', (signature) =>
    expect(() => typesIn(signature)).toThrow('not a type'),
  );

  test('a text with NUL is not sent, and bytes that are not D-Bus are not read', () => {
    expect(() => encodeMessage({ ...call, signature: 's', body: ['a\0b'] })).toThrow('NUL');
    expect(() => decodeMessage(Buffer.from('HTTP/1.1 400 Bad Request'))).toThrow('byte order');
  });
});

describe('a connection', () => {
  const socketPath = () => join(temporaryDir(), 'socket');
  const peer = (answer: Answer) => servePeer(socketPath(), answer);
  const direct = { isBus: false, onSignal: () => {} };

  test('an error of the other side has its name, and a reply in pieces is put together', async () => {
    const path = await peer((socket, { serial, member }) => {
      const about = { serial: 1, replyTo: serial, signature: 's', body: ['no such unit'] };
      const name = { errorName: 'a.NoSuchUnit' };
      if (member === 'Bad') return void socket.write(encodeMessage({ kind: 'error', ...about, ...name }));
      const bytes = encodeMessage({ kind: 'return', ...about });
      socket.write(bytes.subarray(0, 20), () => socket.write(bytes.subarray(20)));
    });
    const bus = await DBus.open({ path, ...direct });
    onTestFinished(() => bus.close());
    expect(await bus.call({ path: '/', interface: 'i', member: 'Good' })).toEqual(['no such unit']);
    const error = await bus.call({ path: '/', interface: 'i', member: 'Bad' }).catch((error) => error);
    expect(error).toBeInstanceOf(CallFailed);
    expect(error).toMatchObject({ errorName: 'a.NoSuchUnit', message: 'Bad: no such unit' });
  });

  test('when it ends, calls fail and that can be seen', async () => {
    const path = await peer((socket) => socket.destroy());
    const bus = await DBus.open({ path, ...direct });
    await expect(bus.call({ path: '/', interface: 'i', member: 'Get' })).rejects.toThrow('the connection ended');
    expect(bus.closed.aborted).toBe(true);
    await expect(bus.call({ path: '/', interface: 'i', member: 'Get' })).rejects.toThrow('closed');
  });

  test('what is not D-Bus ends it', async () => {
    const path = await peer((socket) => socket.write('HTTP/1.1 400 Bad Request'));
    const bus = await DBus.open({ path, ...direct });
    await expect(bus.call({ path: '/', interface: 'i', member: 'Get' })).rejects.toThrow('the connection ended');
  });

  test('a socket that is missing, or lets this user not in, is an error with the path', async () => {
    await expect(DBus.open({ path: '/nowhere/socket', ...direct })).rejects.toThrow('connect to /nowhere/socket');
    const path = await serve(socketPath(), (socket) => socket.write('REJECTED EXTERNAL\r\n'));
    const error = await DBus.open({ path, ...direct }).catch((error) => error);
    expect(error.cause.message).toContain('REJECTED');
  });
});

const hasDaemon = spawnSync('dbus-daemon', ['--version']).status === 0;

describe.skipIf(!hasDaemon)('with a dbus-daemon (skipped where none is installed)', () => {
  const startDaemon = async (): Promise<{ path: string; daemon: Program }> => {
    const dir = temporaryDir();
    const path = join(dir, 'bus');
    const policy =
      '<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>';
    const config = `<busconfig><type>system</type><listen>unix:path=${path}</listen>${policy}</busconfig>`;
    writeFileSync(join(dir, 'config'), config);
    const daemon = new Program('dbus-daemon', [
      ...[`--config-file=${join(dir, 'config')}`, '--nofork', '--print-address'],
    ]);
    onTestFinished(() => daemon.end());
    await daemon.printed(/./);
    return { path, daemon };
  };
  const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

  test('calls are answered, and signals arrive that were asked for', async () => {
    const { path } = await startDaemon();
    const signals: Message[] = [];
    const matches = ["type='signal',member='NameOwnerChanged'"];
    const one = await DBus.open({ path, isBus: true, matches, onSignal: (signal) => signals.push(signal) });
    const two = await DBus.open({ path, isBus: true, onSignal: () => {} });
    onTestFinished(() => [one, two].forEach((open) => void open.close()));
    const [names] = await one.call({ ...bus, member: 'ListNames' });
    expect(names).toContain('org.freedesktop.DBus');
    await two.call({ ...bus, member: 'RequestName', signature: 'su', body: ['dev.relet.Test', 0] });
    await one.call({ ...bus, member: 'GetId' });
    expect(signals.map(({ body }) => body[0])).toContain('dev.relet.Test');
  });

  test('its end is the end of the connection', async () => {
    const { path, daemon } = await startDaemon();
    const one = await DBus.open({ path, isBus: true, onSignal: () => {} });
    const closed = once(one.closed, 'abort');
    daemon.kill('SIGKILL');
    await closed;
    await expect(one.call({ ...bus, member: 'ListNames' })).rejects.toThrow('closed');
  });
});
