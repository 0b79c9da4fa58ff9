/**
 * ssh-keygen and relet agree: each accepts the signatures of the other, with keys of every type, and both reject what was damaged.
 * SIGNATURE_RUNS is the number of random cases for each type of key.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { signatureNamespace } from '../src/api/signing.js';
import { decideSignature } from '../src/config/signing/decide.js';
import { formatStatement, parseStatement, type Statement } from '../src/config/signing/statement.js';
import { parseTrust } from '../src/config/signing/trust.js';
import { type SeededRandom, seededRandom } from '../src/rehearsal/simulation/seeded-random.js';
import { needs } from './programs.js';
import { armor, type KeyType, keyTypes, type TestKey, testKey } from './rig/signing.js';
import { temporaryDir } from './temporary-dir.js';

const runs = Number(process.env.SIGNATURE_RUNS ?? 8);
const sshKeygen = needs('ssh-keygen');
const dir = temporaryDir();
const now = Math.floor(Date.now() / 1000);

interface Case {
  statement: string;
  signature: string;
  /** Options and key of the one line of allowed signers. */
  allowed: string;
  revoked?: string;
}

/** Signs with a namespace and a hash. */
type Sign = (statement: string, namespace: string, hash: 'sha256' | 'sha512') => string;

describe.skipIf(sshKeygen.isMissing)(`with ssh-keygen${sshKeygen.note}`, { timeout: 3_600_000 }, () => {
  const keys = new Map<KeyType, TestKey>();
  const keyFiles = new Map<KeyType, { line: string; sign: Sign }>();
  beforeAll(() => {
    for (const type of keyTypes) {
      keys.set(type, testKey(type));
      // A key in hardware needs the hardware.
      if (!type.startsWith('sk-')) keyFiles.set(type, keyFileOf(type));
    }
  });

  test.each(keyTypes)(`random configs signed with keys of type %s, ${runs} intact and ${runs} damaged`, (type) => {
    const random = seededRandom(type);
    const disagreements: unknown[] = [];
    const damaged = new Set<string>();
    for (let run = 0; run < runs; run++) {
      const { line, sign } = (run % 2 === 0 && keyFiles.get(type)) || ofRig(keys.get(type)!);
      const statement = anyStatement(random);
      const hash = random.pick(['sha256', 'sha512'] as const);
      const intact: Case = { statement, signature: sign(statement, signatureNamespace, hash), allowed: line };
      const resign = (text: string, namespace = signatureNamespace) => sign(text, namespace, hash);
      const [name, damage] = random.pick(damages);
      const broken = damage(intact, { random, resign, other: testKey('ssh-ed25519') });
      damaged.add(name);
      const found = [outcomes(intact), outcomes(broken)];
      if (JSON.stringify(found) !== '[[true,true],[false,false]]')
        disagreements.push({ run, name, found, intact, broken });
    }
    expect(disagreements).toEqual([]);
    expect(damaged.size).toBeGreaterThan(runs < 100 ? 2 : damages.length - 1);
  });

  function keyFileOf(type: KeyType): { line: string; sign: Sign } {
    const path = join(dir, type);
    const bits = type === 'ssh-rsa' ? ['-b', '2048'] : [];
    run(['-q', '-t', type === 'ssh-rsa' ? 'rsa' : type, ...bits, '-N', '', '-f', path]);
    // An ECDSA key of another size has the same name for ssh-keygen, which reads the size from the type.
    const line = readFileSync(`${path}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
    const sign: Sign = (statement, namespace, hash) => {
      const message = join(dir, 'message');
      writeFileSync(message, statement);
      rmSync(`${message}.sig`, { force: true });
      run(['-Y', 'sign', '-q', '-f', path, '-n', namespace, '-O', `hashalg=${hash}`, message]);
      return readFileSync(`${message}.sig`, 'utf8');
    };
    return { line, sign };
  }
});

const ofRig = ({ line, sign }: TestKey): { line: string; sign: Sign } => ({
  line,
  sign: (statement, namespace, hash) => sign(statement, { namespace, hash }),
});

/** Whether ssh-keygen accepts it, and whether relet does. */
function outcomes({ statement, signature, allowed, revoked }: Case): [boolean, boolean] {
  const paths = { signers: join(dir, 'signers'), signature: join(dir, 'signature'), revoked: join(dir, 'revoked') };
  writeFileSync(paths.signers, `ann ${allowed}\n`);
  writeFileSync(paths.signature, signature);
  if (revoked !== undefined) writeFileSync(paths.revoked, `${revoked}\n`);
  const args = ['-f', paths.signers, '-I', 'ann', '-n', signatureNamespace, '-s', paths.signature];
  const isRevoked = revoked === undefined ? [] : ['-r', paths.revoked];
  const { status } = spawnSync('ssh-keygen', ['-Y', 'verify', ...args, ...isRevoked], { input: statement });
  return [status === 0, isAccepted({ statement, signature, allowed, ...(revoked && { revoked }) })];
}

function isAccepted({ statement, signature, allowed, revoked }: Case): boolean {
  try {
    const { pools, ...signed } = parseStatement(statement);
    const file = { apiVersion: 'relet.dev/v1alpha1', kind: 'Trust', ...(pools[0] && { pool: pools[0] }) };
    const text = JSON.stringify({ ...file, signers: [`ann ${allowed}`], revoked: revoked ? [revoked] : [] });
    const host = { now, floor: 0, accepted: [] };
    const parts = { content: signed, statement, signatures: signature };
    return decideSignature(parts, parseTrust(text, 'trust.yaml'), host).kind === 'accepted';
  } catch {
    return false;
  }
}

interface Means {
  random: SeededRandom;
  resign(text: string, namespace?: string): string;
  other: TestKey;
}

const damages: [string, (intact: Case, means: Means) => Case][] = [
  [
    'a bit of the key in the signature',
    (one, { random }) => inSignature(one, random, 14, (data) => 14 + keyLength(data)),
  ],
  ['a bit of the signature', (one, { random }) => inSignature(one, random, (data) => data.length - 40)],
  // The last byte of the version, which is not signed, may be 0 for ssh-keygen. relet reads only version 1.
  ['a bit at the beginning of the signature', (one, { random }) => inSignature(one, random, 0, 9)],
  ['a character of the statement', (one, { random }) => ({ ...one, statement: flipped(one.statement, random) })],
  ['a bit of the allowed key', (one, { random }) => ({ ...one, allowed: flippedKey(one.allowed, random) })],
  [
    'another namespace',
    (one, { resign }) => ({ ...one, signature: resign(one.statement, 'relet.dev/kubelet-confih') }),
  ],
  ['another statement', (one, { resign }) => ({ ...one, signature: resign(`${one.statement}\n`) })],
  ['an expired key', (one) => ({ ...one, allowed: `valid-before="20260101Z" ${one.allowed}` })],
  ['a key of later', (one) => ({ ...one, allowed: `valid-after="22000101Z" ${one.allowed}` })],
  ['a key for something else', (one) => ({ ...one, allowed: `namespaces="git,relet" ${one.allowed}` })],
  ['a revoked key', (one) => ({ ...one, revoked: one.allowed })],
  ['a foreign key', (one, { other }) => ({ ...one, allowed: other.line })],
  ['a signature that was cut off', (one, { random }) => ({ ...one, signature: cut(one.signature, random) })],
];

const dataOf = (signature: string): Buffer => Buffer.from(signature.replace(/-----.*-----|\n/g, ''), 'base64');
const keyLength = (data: Buffer): number => data.readUInt32BE(10);

type At = number | ((data: Buffer) => number);

/** With one bit changed between two places of the signature's bytes. */
function inSignature(one: Case, random: SeededRandom, from: At, to: At = (data) => data.length): Case {
  const data = dataOf(one.signature);
  const [start, end] = [from, to].map((at) => (typeof at === 'number' ? at : at(data))) as [number, number];
  data[start + random.below(end - start)]! ^= 1 << random.below(8);
  return { ...one, signature: armor(data) };
}

function flipped(text: string, random: SeededRandom): string {
  const data = Buffer.from(text);
  data[random.below(data.length)]! ^= 1 << random.below(7);
  return data.toString('latin1');
}

function flippedKey(line: string, random: SeededRandom): string {
  const [type, base64 = ''] = line.split(' ');
  const data = Buffer.from(base64, 'base64');
  data[random.below(data.length)]! ^= 1 << random.below(8);
  return `${type} ${data.toString('base64')}`;
}

function cut(signature: string, random: SeededRandom): string {
  const data = dataOf(signature);
  return armor(data.subarray(0, random.below(data.length)));
}

function anyStatement(random: SeededRandom): string {
  const list = <T>(most: number, make: (index: number) => T) =>
    Array.from({ length: random.below(most + 1) }, (_, at) => make(at));
  const digests = (most: number) =>
    Object.fromEntries(list(most, (at) => [`key-${at}`, random.bytes(32).toString('hex')]));
  const floor = random.below(now);
  const statement: Statement = {
    data: { kubelet: random.bytes(32).toString('hex'), ...digests(4) },
    binaryData: digests(2),
    annotations: random.chance(0.5) ? { 'relet.dev/allow-fields': random.bytes(6).toString('latin1') } : {},
    pools: list(3, (at) => `pool-${at}`),
    serial: floor + random.below(1000),
    floor,
    ...(random.chance(0.5) && { notBefore: now - 1 - random.below(1000) }),
    ...(random.chance(0.5) && { notAfter: now + 86_400 }),
  };
  return formatStatement(statement);
}

function run(args: string[]): void {
  const { status, stderr } = spawnSync('ssh-keygen', args, { input: '', encoding: 'utf8' });
  if (status !== 0) throw new Error(`ssh-keygen ${args.join(' ')}: ${stderr}`);
}
