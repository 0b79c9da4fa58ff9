/**
 * Compares the reactions of real kubelets to recorded documents with the results of relet; see test/evidence/oracle.md.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CheckResult, check } from '../src/config/check.js';
import { fieldAt } from '../src/config/fields.js';
import type { Host, KubeletConfig } from '../src/config/model.js';
import { newerOracleCases, type OracleAnswer, type OracleDocument, oracleCases } from './evidence/read.js';
import { relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const cases = oracleCases();
const newer = newerOracleCases();
const minors = [23, 32, 36, 37] as const;
const newerMinors = [36, 37] as const;
type OracleMinor = (typeof minors)[number];

/** The machine the record was made on. */
const host: Host = {
  cgroupVersion: 1,
  cpus: 2,
  memoryBytes: 24 * 2 ** 30,
  swap: false,
  systemd: false,
  numaNodes: 1,
  files: { '/oracle/case/ca.crt': false, '/oracle/case/a.crt': false, '/oracle/case/a.key': false },
};

const file = '/oracle/case/kubelet.yaml';
const checked = (one: OracleDocument, minor: OracleMinor): CheckResult =>
  check(one.payload, {
    minor,
    flags: [...one.flags, ...recordingFlags(one, minor)],
    lenient: true,
    file,
    ...(one.hostDependent ? { host } : {}),
  });

/** Kubelets from 1.35 on do not start on the recording host otherwise. */
const recordingFlags = (one: OracleDocument, minor: OracleMinor): string[] =>
  minor < 35 || /failCgroupV1|fail-cgroupv1/.test(one.payload + one.flags) ? [] : ['--fail-cgroupv1=false'];

/** Each case with each answer; those that failed are shown by id, with what was said on either side. */
const pair = (one: OracleDocument, minor: OracleMinor, real: OracleAnswer) => ({
  id: `${one.id} (1.${minor})`,
  one,
  minor,
  real,
  ours: checked(one, minor),
});
const pairs = [
  ...minors.flatMap((minor) => cases.map((one) => pair(one, minor, one[`v1.${minor}`]))),
  ...newerMinors.flatMap((minor) => newer.map((one) => pair(one, minor, one[`v1.${minor}`]))),
];
type Pair = (typeof pairs)[number];

/** relet rejects what the kubelet reads: fields of the internal version have other names, which it does not check. */
const refused = pairs.filter(({ one }) => one.id === 'gvk/internal');
const settled = pairs.filter((pair) => pair.one.hostDependent !== true && !refused.includes(pair));
const isFalseAlarm = ({ real, ours }: Pair) => real.startup === 'started' && ours.startup === 'fails';
const isMissed = ({ real, ours }: Pair) => real.startup === 'failed' && ours.startup === 'ok';
const ids = (list: Pair[]) => list.map(({ id }) => id);

describe('real kubelets', () => {
  test('each document is accepted or rejected as by real kubelets 1.23, 1.32, 1.36 and 1.37', () => {
    expect([cases.length, newer.length]).toEqual([368, 96]);
    const wrong = pairs.filter(({ real, ours }) => (real.verdict === 'accepted') !== (ours.verdict === 'accepted'));
    expect(wrong.map(({ id, real, ours }) => `${id}: ${real.verdict}, relet: ${ours.verdict}`)).toEqual([]);
    expect(pairs).toHaveLength(4 * 368 + 2 * 96);
  });

  test('the internal version is rejected before anything of it is validated', () => {
    expect(refused.map(({ ours }) => ours.verdict)).toEqual(minors.map(() => 'decode-error'));
  });

  test('the answer is the one of the kubelet in every case that does not depend on the host', () => {
    const compared = settled.filter(({ real }) => real.verdict !== 'other');
    const wrong = compared.filter(({ real, ours }) => real.verdict !== ours.verdict);
    expect(wrong.map(({ id, real, ours }) => `${id}: ${real.verdict}, relet: ${ours.verdict}`)).toEqual([]);
    expect(compared.length).toBeGreaterThan(650);
  });

  test('what stops the kubelet in flags, TLS set-up or by a panic is rejected as well', () => {
    const others = pairs.filter(({ real }) => real.verdict === 'other');
    expect(ids(others.filter(({ ours }) => ours.verdict !== 'validate-error'))).toEqual([]);
    expect(others.length).toBeGreaterThan(30);
  });

  test('a description of the host settles what depends on it', () => {
    const dependent = pairs.filter(({ one, real }) => one.hostDependent === true && real.verdict !== 'other');
    expect(ids(dependent.filter(({ real, ours }) => real.verdict !== ours.verdict))).toEqual([]);
    expect(dependent.length).toBeGreaterThan(10);
  });

  test('the message is the one of the kubelet in every rejected case that does not depend on the host', () => {
    const rejected = settled.filter(({ real }) => real.verdict === 'decode-error' || real.verdict === 'validate-error');
    expect(ids(rejected.filter((pair) => !sameMessage(pair)))).toEqual([]);
    expect(rejected.length).toBeGreaterThan(600);
  });

  test('the effective config is the recorded one', () => {
    const shown = settled.filter(({ real }) => real.effective !== undefined);
    const wrong = shown.filter((pair) => difference(pair) !== undefined);
    expect(wrong.map((pair) => `${pair.id}: ${difference(pair)}`)).toEqual([]);
    expect(shown.length).toBeGreaterThan(350);
  });

  test('a document is forecast to stop the kubelet at startup exactly where it stopped the real one', () => {
    const recorded = settled.filter(({ real }) => real.startup !== undefined);
    const count = (minor: OracleMinor) => recorded.filter((pair) => pair.minor === minor).length;
    expect(minors.map(count)).toEqual([208, 196, 238, 237]);
    expect(ids(recorded.filter(isFalseAlarm))).toEqual([]);
    expect(ids(recorded.filter(isMissed))).toEqual([]);
  });

  test('a description of the host settles the forecast where startup depends on it, unless a socket is missing', () => {
    const recorded = pairs.filter(({ one, real }) => one.hostDependent === true && real.startup !== undefined);
    expect(ids(recorded.filter(isFalseAlarm))).toEqual([]);
    expect(ids(recorded.filter(isMissed))).toEqual([
      'flag/image-service-endpoint-unix:---run-a.sock (1.36)',
      'flag/image-service-endpoint-unix:---run-a.sock (1.37)',
    ]);
    expect(recorded).toHaveLength(8 + 7 + 10 + 10);
  });

  test('an error of the kubelet that the forecast quotes is the one it exited with', () => {
    const quoted = pairs.filter(({ real }) => real.startup === 'failed').filter((pair) => quotes(pair).length > 0);
    const wrong = quoted.filter((pair) => !quotes(pair).some((quote) => pair.real.startupMessage!.includes(quote)));
    expect(wrong.map((pair) => `${pair.id}: ${pair.real.startupMessage}, relet: ${quotes(pair).join()}`)).toEqual([]);
    expect(quoted.length).toBeGreaterThan(60);
  });

  test('every refusal has an error with a message, and what is accepted has none of the kubelet', () => {
    const silent = settled.filter(({ ours }) => {
      const errors = ours.findings.filter(({ severity }) => severity === 'error');
      return ours.verdict === 'accepted' ? errors.some(({ source }) => source === 'kubelet') : errors.length === 0;
    });
    expect(ids(silent)).toEqual([]);
  });

  test('the command line says the same as the library', () => {
    const dir = temporaryDir();
    const sample = settled.filter((_, index) => index % 41 === 0);
    for (const { id, one, minor, ours } of sample) {
      const path = join(dir, 'kubelet.yaml');
      writeFileSync(path, one.payload);
      const flags = one.flags.flatMap((flag) => ['--flag', flag]);
      const version = ['--kubelet-version', `1.${minor}`];
      const { stdout, status } = relet(['config', 'validate', path, '--lenient', '-o', 'json', ...version, ...flags]);
      const [report] = JSON.parse(stdout);
      expect({ id, verdict: report.verdict, startup: report.startup }).toEqual({
        id,
        verdict: ours.verdict,
        startup: ours.startup,
      });
      expect(status).toBe(ours.findings.some(({ severity }) => severity === 'error') ? 1 : 0);
    }
    expect(sample.length).toBeGreaterThan(15);
  });
});

/** The record has placeholders for paths, and the end of `in scheme` depends on how the kubelet was built. */
function sameMessage({ real, ours }: Pair): boolean {
  const printed = normal(
    ours.message.replaceAll(file, '<FILE>').replaceAll('/oracle/case', '<DIR>').replaceAll('/oracle', '<BASE>'),
  );
  return [real.message, ...(real.messageVariants ?? [])].some((message) => normal(message) === printed);
}

const normal = (message: string): string => message.replace(/in scheme ".*$/m, 'in scheme').trim();

/** A quote may itself hold quotes. */
const quotes = ({ ours }: Pair): string[] =>
  ours.findings.flatMap(({ message }) => {
    const quote = /exits at startup with '(.*)';/.exec(message)?.[1];
    return quote === undefined ? [] : [quote.replaceAll('/oracle/case', '<DIR>')];
  });

/** Fields that the recording itself set for 1.23, and those the kubelet does not show. */
const notShown: Record<OracleMinor, string[]> = {
  23: [
    'authentication.anonymous.enabled',
    'authorization.mode',
    'cgroupsPerQOS',
    'enforceNodeAllocatable',
    'failSwapOn',
    'tlsCertFile',
    'tlsPrivateKeyFile',
    'logging.verbosity',
  ],
  32: ['logging.verbosity'],
  36: ['logging.verbosity', 'failCgroupV1'],
  37: ['logging.verbosity', 'failCgroupV1'],
};

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function difference({ minor, real, ours }: Pair): string | undefined {
  const plain = check(header, { minor, lenient: true, file });
  const before = flatten(plain.effective ?? {});
  const changed = new Map<string, unknown>();
  for (const [path, value] of flatten(ours.effective ?? {})) {
    if (notShown[minor].includes(path) && !(path in real.effective!)) continue;
    if (text(value) !== text(before.get(path))) changed.set(path, value);
  }
  // 1.23 and 1.37 show their object without what is empty, unless it is behind a pointer.
  const isHidden = (path: string, value: unknown) =>
    (minor === 23 || minor === 37) && isEmpty(value) && fieldAt(path)?.pointer !== true;
  const got = text(Object.fromEntries([...changed].filter(([path, value]) => !isHidden(path, value))));
  const want = text(real.effective!);
  return got === want ? undefined : `${want}, relet: ${got}`;
}

const isEmpty = (value: unknown) =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** Objects are taken apart down to fields; maps and lists are values. */
function flatten(config: KubeletConfig, parent = '', into = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, value] of Object.entries(config)) {
    const path = parent === '' ? name : `${parent}.${name}`;
    const isStruct = fieldAt(path)?.goType === '{}';
    if (isStruct && value !== null) flatten(value as KubeletConfig, path, into);
    else into.set(path, value);
  }
  return into;
}

/** Comparable text: keys in order, 1.23's null is empty, big numbers as they are, paths with their placeholders. */
function text(value: unknown): string {
  const plain = (_key: string, part: unknown) =>
    part === null ? undefined : typeof part === 'bigint' ? Number(part) : part;
  return (JSON.stringify(sorted(value), plain) ?? 'none')
    .replaceAll('/oracle/case', '<DIR>')
    .replaceAll('/oracle', '<BASE>');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
}
