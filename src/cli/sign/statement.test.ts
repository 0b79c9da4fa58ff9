/** Signing with the ssh-keygen of this machine: what stays when several people sign, and what makes a statement a new one. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { sshSignature } from './ssh-keygen.js';
import { type Signed, type StatementOptions, sign } from './statement.js';

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
const dir = temporaryDir();

const nowMs = Date.parse('2026-11-18T20:00:00Z');
const now = nowMs / 1000;
const data = (maxPods: number) => ({ kubelet: `maxPods: ${maxPods}\n` });

function key(name: string, passphrase = ''): string {
  const file = join(dir, name);
  spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', file]);
  return file;
}

const facts = async (signed: Signed | undefined, options: StatementOptions, maxPods = 100) =>
  (await sign({ data: data(maxPods), signed }, options, { facts: { pools: ['gpu'], replaced: 70 }, nowMs })).facts;

describe('the statement', () => {
  test('is for the pools of the hosts, with the time as serial and the replaced serial as floor', async () => {
    expect(await facts(undefined, {})).toMatchObject({ pools: ['gpu'], serial: now, floor: 70 });
  });

  test('of a config that may not be taken back has its own serial as floor', async () => {
    expect(await facts(undefined, { return: false })).toMatchObject({ serial: now, floor: now });
  });

  test('has a serial above that of the config that it replaces, whatever the clock says', async () => {
    const { facts: made } = await sign({ data: data(100) }, {}, { facts: { replaced: now + 50 }, nowMs });
    expect(made).toMatchObject({ serial: now + 51, floor: now + 50 });
  });

  test('of other bytes replaces the one before, which nodes can return to', async () => {
    const before = await sign({ data: data(100) }, { serial: 80, pools: ['web'] }, { nowMs });
    expect(await facts(before, {}, 120)).toMatchObject({ pools: ['web'], serial: now, floor: 80 });
  });

  test('that is renewed keeps pools and floor', async () => {
    const before = await sign({ data: data(100) }, { serial: 80, floor: 60, pools: ['web'] }, { nowMs });
    const renewed = await facts(before, { notAfter: now + 9 });
    expect(renewed).toMatchObject({ pools: ['web'], serial: now, floor: 60, notAfter: now + 9 });
    expect(await facts(before, { pools: ['web'], floor: 60 })).toMatchObject({ serial: 80 });
  });

  test('is not made with a floor above its serial', async () => {
    await expect(facts(undefined, { serial: 5, floor: 6 })).rejects.toThrow('floor 6 is above the serial 5');
  });
});

describe.runIf(hasKeygen)('with ssh-keygen', () => {
  const [ann, bob] = [key('ann'), key('bob')];

  test('several people sign the same statement, each once', async () => {
    const first = await sign({ data: data(100) }, { key: ann }, { nowMs });
    const second = await sign({ data: data(100), signed: first }, { key: bob }, { nowMs: nowMs + 5000 });
    const again = await sign({ data: data(100), signed: second }, { key: ann }, { nowMs: nowMs + 9000 });
    expect(second.statement).toBe(first.statement);
    expect(again.signatures).toHaveLength(2);
    expect(new Set(again.keys)).toEqual(new Set([...first.keys, ...second.keys]));
    expect(again.dropped).toBeUndefined();
  });

  test('a new statement drops the signatures of the one before, and says how many', async () => {
    const first = await sign({ data: data(100) }, { key: ann }, { nowMs });
    const next = await sign({ data: data(120), signed: first }, { key: bob }, { nowMs: nowMs + 5000 });
    expect(next).toMatchObject({ dropped: 1, facts: { floor: now } });
    expect(next.signatures).toHaveLength(1);
  });

  test.each([
    ['a key that is not there', () => join(dir, 'nobody'), "there is no file '"],
    ['a key with a passphrase and no terminal', () => key('locked', 'secret'), 'load the key into an agent'],
    ['a public key whose private key is nowhere', () => alone(key('lonely')), 'neither beside it nor in an agent'],
  ])('%s is an error that says what to do', async (_name, file, words) => {
    await expect(sshSignature('text', file())).rejects.toThrow(words);
  });
});

function alone(file: string): string {
  rmSync(file);
  return `${file}.pub`;
}
