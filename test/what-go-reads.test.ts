/** Documents at the limits of what Go reads: relet reads the same, or refuses; it does not overflow its stack. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shownLocalConfig } from '../src/agent/report/local-config.js';
import { pathsIn } from '../src/agent/trial/retry.js';
import { check } from '../src/config/check.js';
import { checkOverlay } from '../src/config/check-overlay.js';
import { checkPolicy } from '../src/config/check-policy.js';
import { DecodeError, decode } from '../src/config/decode.js';
import { mergeLocal } from '../src/config/merge.js';
import { getField } from '../src/config/model.js';
import { isOverlay } from '../src/config/overlay.js';
import { upgradeCheck } from '../src/config/upgrade-check.js';
import { readWritten } from '../src/fleet/config-text.js';
import { limitCases } from './evidence/read.js';
import { spelledConfig } from './spellings.js';
import { validate } from './validate-rig.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const json = '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","readOnlyPort":10255,';
const port = 'readOnlyPort: 10255\n';
const minor = 37;
const portOf = (text: string) => check(text, { minor, lenient: true }).effective?.readOnlyPort;

/** `depth` levels below a field that no kubelet has. */
const deep: Record<string, (depth: number) => string> = {
  'a flow sequence': (depth) => `${header}${port}x: ${'['.repeat(depth)}${']'.repeat(depth)}\n`,
  'a flow mapping': (depth) => `${header}${port}x: ${'{a: '.repeat(depth)}1${'}'.repeat(depth)}\n`,
  'pairs in flow sequences': (depth) => `${header}${port}x: ${'[a: '.repeat(depth / 2)}1${']'.repeat(depth / 2)}\n`,
  'a block sequence': (depth) => `${header}${port}x:\n ${'- '.repeat(depth)}1\n`,
  'lists in JSON': (depth) => `${json}"x":${'['.repeat(depth)}${']'.repeat(depth)}}`,
  'objects in JSON': (depth) => `${json}"x":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
};

describe('documents that were given to kubelet 1.37.1', () => {
  const recorded = limitCases().map((one) => ({ ...one, real: one['v1.37'] }));
  const read = (text: string) => check(text, { minor, lenient: true }).effective;
  const accepted = recorded.filter(({ real }) => real.effective !== undefined);

  test('relet refuses what the kubelet refuses, and reads the same where it reads what the kubelet reads', () => {
    const others = recorded.filter((one) => !accepted.includes(one));
    expect([accepted.length, others.length]).toEqual([21, 9]);
    expect(others.filter(({ payload }) => read(payload) !== undefined).map(({ id }) => id)).toEqual([]);
    for (const { id, payload, real } of accepted) {
      const effective = read(payload);
      for (const [path, value] of Object.entries(effective ? real.effective! : {}))
        expect([id, path, getField(effective!, path)]).toEqual([id, path, value]);
    }
  });

  test('relet refuses some that the kubelet reads, and validation rejects them for that', async () => {
    const refused = accepted.filter(({ payload }) => read(payload) === undefined);
    expect(refused.map(({ id }) => id)).toEqual([
      'mark/twice',
      'mark/byte-508',
      'mark/byte-512',
      'mark/byte-1020',
      'ignored/control',
      'internal/go-names',
    ]);
    for (const { payload } of refused)
      expect(await validate({ config: payload, version: 'v1.37.1' })).toMatchObject({ reason: 'CannotBeChecked' });
  });

  test('no document that opens access passes a field policy, nor the built-in one', async () => {
    const policy = { deny: ['authentication.anonymous', 'readOnlyPort'], bounds: { maxPods: { max: 250 } } };
    for (const { id, payload } of accepted)
      for (const parts of [{}, { policyIsOurs: true, policy }]) {
        const result = await validate({ config: payload, version: 'v1.37.1', parts });
        const opens = (recorded.find((one) => one.id === id)!.real.effective as { readOnlyPort?: number }).readOnlyPort;
        if (opens !== undefined || 'policy' in parts) expect([id, result.kind]).toEqual([id, 'rejected']);
      }
  });
});

test('whatever way a config is written that a kubelet reads, relet reads the same config or refuses', () => {
  let read = 0;
  fc.assert(
    fc.property(spelledConfig, ({ text, port, mode, anonymous }) => {
      const effective = check(text, { minor, lenient: true }).effective;
      if (effective === undefined) return;
      read++;
      expect(effective.readOnlyPort).toBe(port);
      expect(getField(effective, 'authorization.mode')).toBe(mode);
      expect(getField(effective, 'authentication.anonymous.enabled')).toBe(anonymous);
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(400);
});

describe('nesting', () => {
  test.each(Object.entries(deep))('%s is read to the depth of 10,000', (name, text) => {
    expect(portOf(text(9_998))).toBe(10255);
    if (name !== 'pairs in flow sequences') expect(portOf(text(9_999))).toBe(10255);
    for (const depth of [10_002, 100_000]) expect(() => decode(text(depth), { minor })).toThrow('exceeded max depth');
  });

  test('of maps that merge maps is read, and is not deep in what they become', () => {
    const text = `${header}x: ${'{<<: '.repeat(9_000)}{}${'}'.repeat(9_000)}\n<<: {<<: {readOnlyPort: 10255}}\n`;
    expect(portOf(text)).toBe(10255);
  });

  test('that aliases make deeper than 10,000 is refused', () => {
    const half = (name: string, inner: string) =>
      `${name}: &${name} ${'['.repeat(4_000)}${inner}${']'.repeat(4_000)}\n`;
    expect(portOf(`${header}${port}${half('a', '')}${half('b', '*a')}`)).toBe(10255);
    expect(() => decode(`${header}${half('a', '')}${half('b', '*a')}${half('c', '*b')}`, { minor })).toThrow(
      "json parse error: invalid character '[' exceeded max depth",
    );
  });

  const texts = Object.values(deep).map((text) => text(9_000));
  test.each(texts.map((text) => [text.slice(80, 140), text]))('below %j overflows no stack anywhere', (_name, text) => {
    const policy = { deny: ['readOnlyPort'] };
    const local = [{ path: '/local', text }];
    expect(isOverlay(text)).toBe(false);
    expect(checkPolicy(policy, text, { minor, local: undefined })).toMatchObject([{ field: 'readOnlyPort' }]);
    expect(checkPolicy(policy, text, { minor, local })).toEqual([]);
    expect(upgradeCheck(text, { from: 36, to: 37 }).findings.filter(({ severity }) => severity === 'error')).toEqual(
      [],
    );
    expect(mergeLocal({ minor, local }).config.readOnlyPort).toBe(10255);
    expect(() =>
      mergeLocal({
        minor,
        local: [
          { path: '/a', text: header },
          { path: '/b', text, dropIn: true },
        ],
      }),
    ).not.toThrow(RangeError);
    expect(() => readWritten(text, minor)).toThrow(DecodeError);
    expect(pathsIn(text)).toEqual([]);
    expect(shownLocalConfig([{ path: '/local', data: Buffer.from(text) }])).toBeUndefined();
  });

  test('in an overlay is an error', () => {
    const overlay = `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {x: ${'['.repeat(9_000)}${']'.repeat(9_000)}}\n`;
    expect(checkOverlay(overlay, { minor, local: [], lenient: true })).toMatchObject({
      message: expect.stringContaining('x: nested deeper than any field of a kubelet config'),
    });
  });
});

describe('a byte order mark', () => {
  test('at the beginning does not belong to the document; later it is a character like any other', () => {
    expect(portOf(`\ufeff${header}${port}`)).toBe(10255);
    expect(portOf(`${header}\ufeffx: 1\n${port}`)).toBe(10255);
    expect(portOf(`${header}\ufeff${port}`)).toBe(0);
    expect(portOf(`\ufeff${json}"x":1}`)).toBe(10255);
  });

  // A kubelet reads readOnlyPort here: it drops the X.
  test.each([507, 508, 511, 512, 1019, 1024])('is refused at byte %i, where Go drops characters behind it', (at) => {
    const start = '{\n apiVersion: kubelet.config.k8s.io/v1beta1,\n kind: KubeletConfiguration,\n    ';
    const text = (offset: number) =>
      `${'#'.repeat(offset - start.length - 1)}\n${start}\ufeffz: 1,\nXreadOnlyPort: 10255,\n maxPods: 7}\n`;
    const message = expect.stringContaining('a byte order mark (U+FEFF) is where the kubelet would drop');
    const findings = [expect.objectContaining({ source: 'relet' })];
    expect(() => decode(text(at), { minor })).toThrow(expect.objectContaining({ message, findings }));
    expect(portOf(text(at - 60))).toBe(0);
  });

  test('twice at the beginning is refused', () => {
    expect(() => decode(`\ufeff\ufeff${header}`, { minor })).toThrow('a byte order mark');
  });
});

test('a document of exactly 1 MiB is read, and one byte more is not', () => {
  const text = (bytes: number) => `${header}${port}${'#'.repeat(bytes - header.length - port.length)}`;
  expect(portOf(text(2 ** 20))).toBe(10255);
  expect(() => decode(text(2 ** 20 + 1), { minor })).toThrow('larger than 1 MiB');
  expect(() => decode(`${text(2 ** 20 - 1)}\xe9`, { minor })).toThrow('larger than 1 MiB');
});

test.each([
  ['\x85', '1Gi'],
  [' \u3000\x85', '1Gi'],
  ['\ufeff', undefined],
])('a quantity with %j behind it is read as Go trims it', (space, read) => {
  const text = `${json}"reservedMemory":[{"numaNode":0,"limits":{"memory":"1Gi${space}"}}]}`;
  const { effective } = check(text, { minor, lenient: true });
  expect((effective?.reservedMemory as { limits: object }[] | undefined)?.[0]?.limits).toEqual(
    read === undefined ? undefined : { memory: read },
  );
});

test("the kubelet's internal version is refused, and its place is that of the apiVersion", () => {
  const text = header.replace('v1beta1', '__internal');
  expect(check(text, { minor, lenient: true })).toMatchObject({
    findings: [{ severity: 'error', source: 'relet', line: 1, column: 13, remedy: expect.stringContaining('v1beta1') }],
  });
});
