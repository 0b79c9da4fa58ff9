/**
 * Parsers of what others write, given texts and bytes that are nearly right: they end, throw nothing but their own error, and what they
 * read they read again from what is written of it. FUZZ_RUNS is how many cases each gets; `npm run fuzz` sets it.
 */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeMessage, encodeMessage, type Message, variant } from '../../src/agent/drivers/systemd/dbus-message.js';
import { baseCommand, readDropIn, renderDropIn, valuesOf } from '../../src/agent/drivers/systemd/unit-text.js';
import { ApiError } from '../../src/api/status.js';
import { assignments, expandWords, parseEnvironmentFile } from '../../src/cli/node/unit-environment.js';
import { systemClock } from '../../src/clock.js';
import { check } from '../../src/config/check.js';
import { DecodeError } from '../../src/config/decode.js';
import { encode } from '../../src/config/encode.js';
import { type LocalFile, mergeOverlay } from '../../src/config/merge.js';
import { decodeOverlay, encodeOverlay } from '../../src/config/overlay.js';
import { decideSignature, signedParts } from '../../src/config/signing/decide.js';
import { parseTrust } from '../../src/config/signing/trust.js';
import { valuesOf as prometheusValues } from '../../src/controller/prometheus.js';
import { DurationError, formatDuration, parseDuration } from '../../src/go/duration.js';
import { canonicalQuantity, parseQuantity } from '../../src/go/quantity.js';
import { readYaml } from '../../src/go/yaml/compose.js';
import { plainValue } from '../../src/go/yaml/plain.js';
import type { KubeClient } from '../../src/kube/client.js';
import { type Connection, resolveConnection } from '../../src/kube/connection.js';
import { createExecPlugin, ExecPluginError, type RunPlugin } from '../../src/kube/exec-plugin.js';
import { type ExecEntry, KubeconfigError, parseKubeconfig } from '../../src/kube/kubeconfig.js';
import { configMaps } from '../../src/kube/resource-type.js';
import { MalformedEventError, watch } from '../../src/kube/watch.js';
import { signedAnnotations, testKey } from '../rig/signing.js';
import { printCoverage } from './coverage.js';
import { anyDocument, edited } from './documents.js';

const numRuns = Number(process.env.FUZZ_RUNS ?? 100);
if (process.env.FUZZ_COVERAGE) printCoverage();

/** `holds` returns true where the parser has read something, which it does in one of ten cases at least. */
async function property<T>(arbitrary: fc.Arbitrary<T>, holds: (value: T) => boolean | Promise<boolean>) {
  let read = 0;
  await fc.assert(
    fc.asyncProperty(arbitrary, async (value) => void ((await holds(value)) && read++)),
    { numRuns },
  );
  expect(read).toBeGreaterThan(numRuns / 10);
}

type ErrorType = new (...args: never[]) => Error;

/** The result; undefined for an error of one of these types. Others fail the test. */
function unless<T>(types: ErrorType[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (types.some((type) => (error as Error).constructor === type)) return undefined;
    throw error;
  }
}

const minor = 37;
const overlay = (fields: string, unset = '[]') =>
  `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig:\n  maxPods: 5\n  ${fields}\nunset: ${unset}\n`;
const overlays = edited(
  overlay('evictionHard: {memory.available: 5%}', '["evictionHard[nodefs.available]", clusterDomain]'),
  overlay('authentication: {anonymous: {enabled: false}}', '[featureGates.A, logging.verbosity, resolvConf]'),
  overlay('registerWithTaints: [{key: a, effect: NoSchedule}]', '["kubeReserved[cpu]", tracing]'),
);

describe('a KubeletConfiguration', () => {
  test('that was read is read as the same config from the text that relet writes of it', () =>
    property(anyDocument(minor), (text) => {
      const first = check(text, { minor, lenient: true });
      if (first.effective === undefined) return false;
      const again = check(encode(first.effective), { minor, lenient: true });
      expect(again.effective).toEqual(first.effective);
      return true;
    }));

  test('with an overlay is read as it was merged, and merging it once more changes nothing', () =>
    property(fc.tuple(anyDocument(minor), overlays), ([text, over]) => {
      const local: LocalFile[] = [{ path: '/a', text }];
      const merged = unless([DecodeError], () => mergeOverlay({ minor, local, overlay: over, strict: false }));
      if (merged === undefined) return false;
      const { text: once } = merged;
      const twice = mergeOverlay({ minor, local: [{ path: '/a', text: once }], overlay: over, strict: false });
      expect(twice.text).toBe(once);
      expect(check(once, { minor }).findings.filter(({ message }) => message.startsWith('unknown'))).toEqual([]);
      return true;
    }));

  test('overlay is read as the same from the text that relet writes of it', () =>
    property(overlays, (text) => {
      const { overlay: first } = unless([DecodeError], () => decodeOverlay(text, { minor, strict: false })) ?? {};
      if (first === undefined) return false;
      const again = decodeOverlay(encodeOverlay(first), { minor, strict: false }).overlay;
      expect({ ...again, unset: again.unset.sort() }).toEqual({ ...first, unset: first.unset.sort() });
      return true;
    }));
});

test('a quantity keeps its value in the canonical form, which is canonical itself', () =>
  property(
    edited('1.5Gi', '100m', '1e3', '0.000000001', '18446744073709551616Ki', '-1E', '+.5', '1e-30', '00100M'),
    (text) => {
      const form = canonicalQuantity(text);
      if (form === undefined) return false;
      expect(canonicalQuantity(form)).toBe(form);
      expect(parseQuantity(form)?.nano).toBe(parseQuantity(text)?.nano);
      return true;
    },
  ));

test('a duration is read as the same from the text that Go prints of it', () =>
  property(edited('1h30m', '1.5s', '-2562047h47m16.854775808s', '100ms', '1us1ns', '.1h', '0'), (text) => {
    const value = unless([DurationError], () => parseDuration(text));
    if (value !== undefined) expect(parseDuration(formatDuration(value))).toBe(value);
    return value !== undefined;
  }));

test('events of a watch do not depend on where the answer is cut, and a line that is none ends it with an error', () => {
  const event = (type: string, object: object) => JSON.stringify({ type, object });
  const events = [
    event('ADDED', { metadata: { name: 'é😀', resourceVersion: '1' } }),
    event('BOOKMARK', { metadata: { resourceVersion: '2' } }),
    event('ERROR', { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired' }),
    event('DELETED', { metadata: {} }),
    event('MODIFIED', { metadata: null }),
  ];
  const answer = fc
    .array(edited(...events), { maxLength: 4 })
    .map((lines) => Buffer.from(lines.map((line) => `${line}\n`).join('')));
  const read = async (chunks: Buffer[]) => {
    const client = { clock: systemClock, open: async () => Readable.from(chunks), onLost: () => () => {} };
    const found: unknown[] = [];
    try {
      for await (const one of watch(client as unknown as KubeClient, configMaps, {
        resourceVersion: '',
        timeoutSeconds: 9,
      }))
        found.push(one);
    } catch (error) {
      if (!(error instanceof MalformedEventError || error instanceof ApiError)) throw error;
      found.push(error.message);
    }
    return found;
  };
  return property(fc.tuple(answer, fc.nat(200)), async ([bytes, cut]) => {
    const whole = await read([bytes]);
    expect(await read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
    return whole.length > 1;
  });
});

describe('a message of D-Bus', () => {
  const messages: Message[] = [
    {
      kind: 'signal',
      serial: 1,
      path: '/a',
      interface: 'i.i',
      member: 'M',
      signature: 'sa{sv}as',
      body: ['x', [['k', variant('(su)', ['y', 5])]], ['z']],
    },
    {
      kind: 'error',
      serial: 2,
      replyTo: 7,
      errorName: 'a.b',
      signature: 'v',
      body: [variant('a(sasb)', [['p', ['q'], true]])],
    },
    { kind: 'return', serial: 3, replyTo: 8, signature: 'ayxtd', body: [[1, 2], -3, 4, 0.5] },
  ];
  const change = fc.tuple(fc.nat(200), fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('vas({)}g\0'))));
  const bytes = fc.tuple(fc.constantFrom(...messages), fc.array(change, { maxLength: 3 })).map(([message, changes]) => {
    const encoded = encodeMessage(message);
    for (const [at, byte] of changes) encoded[at % encoded.length] = byte;
    return encoded;
  });

  test('with a few wrong bytes is read, is incomplete, or is an error of D-Bus', () =>
    property(bytes, (data) => {
      try {
        return decodeMessage(data) !== undefined;
      } catch (error) {
        expect((error as Error).message).toMatch(/^D-Bus: /);
        return false;
      }
    }));

  test('is read without a look at the bytes of the next one', () =>
    property(bytes, (data) => {
      const read = (all: Buffer) => {
        try {
          return decodeMessage(all);
        } catch (error) {
          return (error as Error).message;
        }
      };
      const alone = read(data);
      if (alone !== undefined) expect(read(Buffer.concat([data, Buffer.alloc(300, 1)]))).toEqual(alone);
      return typeof alone === 'object';
    }));
});

describe('a signed config', () => {
  const keys = [testKey('ssh-ed25519'), testKey('ecdsa-sha2-nistp256'), testKey('sk-ssh-ed25519@openssh.com')];
  const data = { kubelet: 'maxPods: 5\n' };
  const trustText = `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners:\n${keys.map(({ line }, at) => `- p${at} ${line}\n`).join('')}`;
  const trust = parseTrust(trustText, 'trust.yaml');
  const configs = keys.map((key) => ({ data, annotations: signedAnnotations({ data }, { keys: [key] }) }));
  const host = { now: 1_800_000_000, floor: 0, accepted: [] };

  test('with a changed statement or signature is accepted only where the change is none', () =>
    property(
      fc.tuple(fc.constantFrom(...configs), fc.nat(1)).chain(([config, at]) => {
        const [name, text] = Object.entries(config.annotations)[at]!;
        return edited(text).map((changed) => ({ config, name, changed }));
      }),
      ({ config, name, changed }) => {
        const parts = signedParts({ data, annotations: { ...config.annotations, [name]: changed } });
        const { kind } = decideSignature(parts, trust, host);
        const same = (text: string) => text.replace(/[\n\s]/g, '');
        if (same(changed) !== same(config.annotations[name]!)) expect(kind).toBe('rejected');
        return kind === 'accepted';
      },
    ));

  test('has a trust file that is read, or rejected with the line that is wrong', () =>
    property(
      edited(trustText, trustText.replace('- p0 ', '- p0 namespaces="a*,!b?",valid-before="20271231Z" ')),
      (text) => {
        try {
          return parseTrust(text, 'trust.yaml').signers.length > 0;
        } catch (error) {
          expect((error as Error).message).toMatch(/^trust file trust\.yaml, line \d+: /);
          return false;
        }
      },
    ));
});

test('a kubeconfig gives a connection, or an error that says what is wrong', () => {
  const text = `
apiVersion: v1
current-context: a
clusters: [{name: b, cluster: {server: "https://h:1/p", certificate-authority-data: Zg==, extensions: [{name: client.authentication.k8s.io/exec, extension: {x: 1}}]}}]
contexts: [{name: a, context: {cluster: b, user: c, namespace: m}}, {name: d, context: {cluster: b, user: e}}]
users: [{name: c, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./p, args: [x], env: [{name: M, value: v}], interactiveMode: Never}}}, {name: e, user: {token: t, as: u, as-groups: [g]}}]
`;
  const read = (yaml: string) => plainValue(readYaml(yaml).value ?? { kind: 'null', at: { line: 1, column: 1 } });
  const pluginOf = (exec: ExecEntry, { cluster }: Connection) => {
    const runPlugin: RunPlugin = async ({ args, variables }) => {
      for (const word of [...args, ...Object.values(variables)]) expect(word).toBeTypeOf('string');
      return JSON.stringify({ kind: 'ExecCredential', apiVersion: exec.apiVersion, status: { token: 't' } });
    };
    return createExecPlugin({ exec, cluster, userName: 'c', env: {}, clock: systemClock, runPlugin });
  };
  return property(
    edited(
      text,
      text.replace('current-context: a', 'current-context: d'),
      text.replace('[x]', '[5]'),
      text.replace('value: v', 'value: 5'),
    ),
    async (changed) => {
      const connection = unless([KubeconfigError], () => resolveConnection(parseKubeconfig(changed, '/k', read)));
      const { exec } = connection?.user ?? {};
      const plugin = exec && unless([ExecPluginError], () => pluginOf(exec, connection!));
      // A wrong type must not reach the program that is started.
      await plugin?.credential();
      return plugin !== undefined;
    },
  );
});

test('a drop-in of relet starts the command of the unit that it was written for, with the config', () => {
  const unit =
    '[Unit]\nDescription=k\n[Service]\nEnvironment="A=b c"\nExecStart=\n  ExecStart = /usr/bin/kubelet $A \\\n # c\n --x="y z" \x24{B}\nRestart=always\n';
  return property(edited(unit, unit.replaceAll('\n', '\r\n')), (text) => {
    const base = unless([Error], () => baseCommand([{ path: '/u.service', text }]));
    if (base === undefined) return false;
    const file = '/var/lib/relet/a.yaml';
    const digest = 'a'.repeat(64);
    const counter = { script: '/s.sh', limit: 3, longRunSeconds: 9 };
    const dropIn = renderDropIn({ kind: 'trial', base, config: { digest, file }, hasConfigDir: false, counter });
    expect(readDropIn(dropIn)).toEqual({ config: digest, base: base.digest });
    expect(valuesOf(dropIn, 'ExecStart')).toEqual(['', `${base.text} --config=${file}`]);
    return true;
  });
});

test('an environment file is read to its end, and each variable has a name of systemd', () =>
  property(edited('A=b\nB="c d" \'e\'\\\nf\n# g\n;h\nC=$A \x24{B}\n', 'K="\\"a\\$\\`"\n\tL = x \\\n y'), (text) => {
    const variables = parseEnvironmentFile(text);
    for (const [name] of variables) expect(name).toMatch(/^[A-Za-z_]\w*$/);
    const words = expandWords(
      ['/k', '$A', '\x24{B}x', '$$'],
      new Map([...variables, ...assignments(text.split('\n'))]),
    );
    expect(words[0]).toBe('/k');
    expect(words.at(-1)).toBe('$');
    return variables.length > 0;
  }));

test('an answer of Prometheus is a map of nodes to numbers, or an error', () => {
  const answer = (result: string) => `{"status":"success","data":{"resultType":"vector","result":[${result}]}}`;
  const one = '{"metric":{"node":"n1"},"value":[1,"3.5"]}';
  return property(
    edited(
      answer(one),
      answer(`${one},{"metric":{"node":"n2"},"value":[1,"NaN"]}`),
      answer('{"metric":{},"value":null}'),
    ),
    (text) => {
      const values = unless([Error], () => prometheusValues(200, text, 'node'));
      for (const value of values?.values() ?? []) expect(Number.isFinite(value) && value >= 0).toBe(true);
      return values !== undefined && values.size > 0;
    },
  );
});
