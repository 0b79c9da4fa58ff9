/** Decoding: where findings point, what they say, what hostile documents do. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecodeError, decode } from './decode.js';
import { countOf } from './listed.js';
import { newestMinor, oldestMinor } from './model.js';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const jsonHeader = '"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration"';

function findingsOf(text: string, minor = 32, strict = true) {
  try {
    return decode(text, { minor, strict }).findings;
  } catch (error) {
    if (error instanceof DecodeError) return error.findings;
    throw error;
  }
}

test.each([
  [34, 'TextOptions.logging.options.text.splitStream'],
  [35, 'TextOptions.logging.options.text.OutputRoutingOptions.splitStream'],
])('kubelet 1.%i names a field that is embedded in another struct as its decoder does', (minor, name) => {
  const [finding] = findingsOf(`${header}logging: {options: {text: {splitStream: a}}}\n`, minor);
  expect(finding?.message).toBe(`json: cannot unmarshal string into Go struct field ${name} of type bool`);
});

test('a character that JSON does not allow is the first byte of it, as for a kubelet', () => {
  expect(findingsOf(`{${jsonHeader}µ}`)[0]?.message).toContain("invalid character 'Â' after object key:value pair");
});

describe('every finding carries its place', () => {
  test.each([
    ['an unknown field', 'maxPod: 5\n', 'maxPod', 3, 1, 'unknown field "maxPod": did you mean "maxPods"?'],
    [
      'a field that lies deeper',
      'swapBehavior: NoSwap\n',
      'swapBehavior',
      3,
      1,
      'unknown field "swapBehavior": did you mean "memorySwap.swapBehavior"?',
    ],
    [
      'the Go name of a field that lies deeper',
      'logging: {Format: json}\n',
      'logging.Format',
      3,
      11,
      'unknown field "Format": did you mean "format"?',
    ],
    ['the Go name of a field', 'MaxPods: 5\n', 'MaxPods', 3, 1, 'unknown field "MaxPods": did you mean "maxPods"?'],
    ['nothing near', 'frobnicate: 5\n', 'frobnicate', 3, 1, 'unknown field "frobnicate"'],
    [
      'a nested one',
      'authentication:\n  webhook:\n    enable: true\n',
      'authentication.webhook.enable',
      5,
      5,
      'unknown field "enable": did you mean "enabled"?',
    ],
    [
      'one in a list',
      'registerWithTaints:\n- {key: a, effect: NoSchedule}\n- {kye: b}\n',
      'registerWithTaints[1].kye',
      5,
      4,
      'unknown field "kye": did you mean "key"?',
    ],
    [
      'a field of a newer kubelet',
      'userNamespaces: {}\n',
      'userNamespaces',
      3,
      1,
      'unknown field "userNamespaces": it came with 1.33',
    ],
    [
      'a field of an older kubelet',
      'logging: {sanitization: true}\n',
      'logging.sanitization',
      3,
      11,
      'unknown field "sanitization": it went after 1.23',
    ],
    ['a duplicate key', 'maxPods: 5\nmaxPods: 6\n', 'maxPods', 4, 1, 'duplicate field "maxPods": remove one'],
    [
      'a wrong type',
      'maxPods: many\n',
      'maxPods',
      3,
      10,
      'json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
    ],
    ['a bad duration', 'syncFrequency: 1d\n', 'syncFrequency', 3, 16, 'time: unknown unit "d" in duration "1d"'],
    [
      'a bad quantity',
      'reservedMemory:\n- limits: {memory: lots}\n',
      'reservedMemory[0].limits[memory]',
      4,
      20,
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ['broken YAML', 'a: b: c\n', '', 3, 5, 'yaml: line 3: mapping values are not allowed in this context'],
  ])('%s', (_name, body, path, line, column, message) => {
    const source = 'kubelet';
    const found = findingsOf(header + body).map(({ remedy: _, ...finding }) => finding);
    expect(found).toEqual([{ severity: 'error', source, path, line, column, message }]);
  });

  test('in JSON too', () => {
    const text = `{${jsonHeader},\n  "maxPods": 5, "maxPods": "6",\n  "bogus": 1}`;
    expect(findingsOf(text)).toMatchObject([{ path: 'maxPods', line: 2, column: 28 }]);
    expect(findingsOf(text.replace('"6"', '6'))).toMatchObject([
      { path: 'maxPods', line: 2, column: 17, message: 'duplicate field "maxPods": remove one' },
      { path: 'bogus', line: 3, column: 3 },
    ]);
    expect(findingsOf('{"kind": tru}')).toMatchObject([{ path: '', line: 1, column: 13 }]);
  });

  test('all wrong types are listed, the kubelet names one', () => {
    const text = `${header}port: abc\naddress: 5\nsyncFrequency: 1x\n`;
    expect(findingsOf(text).map(({ path }) => path)).toEqual(['address', 'port', 'syncFrequency']);
    expect(() => decode(text, { minor: 32 })).toThrow('failed to decode: time: unknown unit "x" in duration "1x"');
  });

  test('positions name every path the document sets', () => {
    const { positions } = decode(`${header}evictionHard:\n  memory.available: 1Gi\nclusterDNS: [10.0.0.10]\n`, {
      minor: 32,
    });
    expect(Object.fromEntries(positions)).toEqual({
      clusterDNS: { line: 5, column: 1 },
      'clusterDNS[0]': { line: 5, column: 14 },
      evictionHard: { line: 3, column: 1 },
      'evictionHard[memory.available]': { line: 4, column: 21 },
    });
  });
});

describe('what could not be decoded has a remedy', () => {
  test.each([
    ['kubeReserved: {memory: 100}', 'write "100" in quotes: kubeReserved takes quantities as text'],
    [
      'evictionSoftGracePeriod: {memory.available: 90}',
      'write "90" in quotes: evictionSoftGracePeriod takes durations as text',
    ],
    ['clusterDomain: true', 'write "true" in quotes: clusterDomain takes text'],
    ['clusterDomain: [a]', 'write one value, not a list: clusterDomain takes text'],
    ['clusterDNS: 10.96.0.10', 'write a list, also for one value: ["10.96.0.10"]'],
    ['clusterDNS: {a: b}', 'write a list: each item of clusterDNS on a line that begins with "- "'],
    ['tlsCurvePreferences: 23', 'write a list, also for one value: [23]'],
    ['maxPods: "110"', 'write 110 without quotes'],
    ['maxPods: many', 'write a whole number'],
    ['maxPods: 1.5', 'write a whole number'],
    ['maxPods: 99999999999', 'write a number from -2147483648 to 2147483647'],
    ['maxPods: "99999999999"', 'write a whole number'],
    ['memoryThrottlingFactor: "0.9"', 'write 0.9 without quotes'],
    ['memoryThrottlingFactor: high', 'write a number'],
    ['failSwapOn: "no"', 'write false, without quotes'],
    ['failSwapOn: 1', 'write true, without quotes'],
    ['failSwapOn: maybe', 'write true or false'],
    ['syncFrequency: 60', 'write 60s for seconds: a duration has a unit'],
    ['syncFrequency: 1d', 'write a number and a unit, such as 90s, 1m30s or 2h; there is no unit for days'],
    ['syncFrequency: {a: b}', 'write one value, not a map: syncFrequency takes a duration'],
    ['reservedMemory: [{limits: {memory: lots}}]', 'write a quantity such as 500m, 1Gi or 10G'],
    ['registerWithTaints: [{key: a, timeAdded: now}]', 'write a time such as "2026-01-31T12:00:00Z", in quotes'],
    ['evictionHard: 100Mi', 'write names and values below evictionHard, such as memory.available: 200Mi'],
    ['featureGates: [NodeSwap]', 'write names and values below featureGates, such as NAME: true'],
    ['authentication: webhook', 'write its fields below authentication: x509, webhook, anonymous'],
  ])('%s', (body, remedy) => {
    expect(findingsOf(`${header}${body}\n`, 36).map((finding) => finding.remedy)).toEqual([remedy]);
  });
});

describe('strict and lenient', () => {
  test('what the kubelet forgives is a warning when asked for', () => {
    expect(findingsOf(`${header}bogus: 1\n`, 32, false)).toMatchObject([{ severity: 'warning', source: 'kubelet' }]);
  });

  test('relet reports what a kubelet before 1.17 drops silently', () => {
    expect(findingsOf(`${header}bogus: 1\n`, 16)).toMatchObject([{ source: 'relet' }]);
    expect(decode(`${header}bogus: 1\n`, { minor: 16 }).lenientReason).toBe('');
    expect(decode(`${header}bogus: 1\n`, { minor: 17 }).lenientReason).toBe(
      'strict decoding error: unknown field "bogus"',
    );
  });

  test('a repeated map in JSON is filled further, in YAML replaced', () => {
    const json = `{${jsonHeader},"evictionHard":{"a":"1"},"evictionHard":{"b":"2"}}`;
    expect(decode(json, { minor: 32 }).config).toEqual({ evictionHard: { a: '1', b: '2' } });
    const yaml = `${header}evictionHard: {a: "1"}\nevictionHard: {b: "2"}\n`;
    expect(decode(yaml, { minor: 32 }).config).toEqual({ evictionHard: { b: '2' } });
  });

  test('what is read is what Go holds', () => {
    const text = `${header}maxOpenFiles: 9223372036854775807\nsyncFrequency: 90s\nregisterWithTaints: [{key: a}]\nreservedMemory: [{limits: {memory: 1.5Gi}}]\n`;
    expect(decode(text, { minor: 32 }).config).toEqual({
      maxOpenFiles: 9223372036854775807n,
      registerWithTaints: [{ key: 'a', effect: '' }],
      reservedMemory: [{ numaNode: 0, limits: { memory: '1536Mi' } }],
      syncFrequency: '1m30s',
    });
  });
});

describe('what follows the first document', () => {
  test.each([
    ['another document', `${header}---\nmaxPods: 5\n`, 4, 1],
    ['a document that cannot be read', `${header}---\n{{{\n`, 4, 1],
    [
      'fields that are less indented',
      '  apiVersion: kubelet.config.k8s.io/v1beta1\n  kind: KubeletConfiguration\nmaxPods: 5\n',
      3,
      1,
    ],
  ])('%s has no effect, and is pointed out', (_name, text, line, column) => {
    const { config, findings } = decode(text, { minor: 32 });
    expect(config).toEqual({});
    expect(findings).toMatchObject([{ severity: 'warning', source: 'relet', line, column }]);
  });

  test.each([`${header}---\n`, `${header}...\n`, `${header}--- # end\n`])('%j is nothing', (text) => {
    expect(decode(text, { minor: 32 }).findings).toEqual([]);
  });
});

describe('kinds', () => {
  test.each([
    ['apiVersion: a/b/c\nkind: X\n', 'unexpected GroupVersion string: a/b/c'],
    ['apiVersion: v1\nkind: ConfigMap\n', 'no kind "ConfigMap" is registered for version "v1"'],
    ['- a\n', "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value"],
    ['kind: KubeletConfiguration\n', "Object 'apiVersion' is missing in 'kind: KubeletConfiguration\n'"],
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: SerializedNodeConfigSource\n',
      'failed to cast object to KubeletConfiguration, unexpected type: kubelet.config.k8s.io/v1beta1, Kind=SerializedNodeConfigSource',
    ],
  ])('%j is refused', (text, message) => {
    expect(() => decode(text, { minor: 32 })).toThrow(message);
  });

  test.each([
    ['kind: KubeletConfiguration\nmaxPods: 5\n', ['write apiVersion: kubelet.config.k8s.io/v1beta1']],
    ['maxPods: 5\n', ['write kind: KubeletConfiguration', 'write apiVersion: kubelet.config.k8s.io/v1beta1']],
    ['apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfig\nmaxPods: 5\n', [undefined]],
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfigurations\nmaxPods: 5\n',
      ['write kind: KubeletConfiguration'],
    ],
    [
      'apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\nmaxPods: 5\n',
      ['write apiVersion: kubelet.config.k8s.io/v1beta1'],
    ],
    ['kind: Pod\nspec: {}\n', ['write apiVersion: kubelet.config.k8s.io/v1beta1']],
  ])('%j: what to write', (text, remedies) => {
    expect(findingsOf(text).map(({ remedy }) => remedy)).toEqual(remedies);
  });

  test('an empty file has its own words', () => {
    expect(() => decode('', { minor: 32, file: 'x' })).toThrow('kubelet config file "x" was empty');
  });
});

describe('hostile documents', () => {
  test('a megabyte is too much', () => {
    expect(() => decode(`${header}#${'x'.repeat(1024 * 1024)}`, { minor: 32 })).toThrow(DecodeError);
    const almost = `${header}${'a: 1\n'.repeat(200_000)}`;
    expect(countOf(decode(almost, { minor: 32 }).findings)).toBe(200_000);
  });

  test('an alias bomb and deep nesting end in an error', () => {
    let bomb = `${header}a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n`;
    for (let i = 1; i < 12; i++)
      bomb += `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]\n`;
    expect(() => decode(bomb, { minor: 32 })).toThrow('excessive aliasing');
    expect(() => decode(`${header}a: ${'['.repeat(400_000)}`, { minor: 32 })).toThrow('exceeded max depth');
    expect(() => decode(`{${jsonHeader},"a":${'['.repeat(400_000)}`, { minor: 32 })).toThrow('exceeded max depth');
  });

  test('keys of Object.prototype are keys like others', () => {
    const text = `${header}evictionHard: {__proto__: "1", constructor: "2"}\n__proto__: {maxPods: 5}\ntoString: 1\n`;
    const { config, findings } = decode(text, { minor: 32 });
    expect(Object.entries(config.evictionHard as object)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
    expect(config.maxPods).toBeUndefined();
    expect(findings.map(({ path }) => path)).toEqual(['__proto__', 'toString']);
  });

  const pieces = fc.constantFrom(
    header,
    'maxPods',
    ': ',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '&a ',
    '*a',
    '!!int ',
    '|',
    '>',
    '#',
    '\t',
    '<<: ',
    '5',
    '1h',
    'yes',
    'logging',
    'registerWithTaints',
    'evictionHard',
    'authentication',
    '%',
    '---\n',
    '\u0000',
    '\\',
  );
  test('decode throws nothing but its typed error', () => {
    const document = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.array(pieces, { maxLength: 30 }).map((parts) => header + parts.join('')),
    );
    fc.assert(
      fc.property(document, fc.integer({ min: oldestMinor, max: newestMinor }), (text, minor) => {
        for (const finding of findingsOf(text, minor)) {
          expect(finding.line).toBeGreaterThan(0);
          expect(finding.column).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
