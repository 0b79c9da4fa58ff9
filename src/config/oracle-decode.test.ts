/** Decoding, defaults and flags against what real kubelets 1.23.17 and 1.32.1 did with recorded documents. */
import { describe, expect, test } from 'vitest';
import { readableOracleCases } from '../../test/evidence/read.js';
import { check } from './check.js';
import { DecodeError, decode } from './decode.js';
import { getField } from './model.js';
import { sameValue } from './same-value.js';

const cases = readableOracleCases();
const file = '/base/dir/config';
const places = (text: string) =>
  text.replaceAll(file, '<FILE>').replaceAll('/base/dir', '<DIR>').replaceAll('/base', '<BASE>');

const rows = cases.flatMap((one) => (['v1.23', 'v1.32'] as const).map((version) => [version, one.id, one] as const));
const minorOf = { 'v1.23': 23, 'v1.32': 32 };
/** The name of the scheme in this message is the build's. */
const comparable = (message: string) => message.replace(/in scheme ".*"$/, 'in scheme');

describe('recorded kubelets', () => {
  test.each(rows)('%s %s decodes alike', (version, _id, one) => {
    const answer = one[version];
    const minor = minorOf[version];
    if (answer.stage === 'decode') {
      const result = check(one.payload, { minor, file, flags: one.flags });
      expect(result.verdict).toBe('decode-error');
      expect(comparable(places(result.message))).toBe(comparable(answer.message));
      for (const finding of result.findings) expect(finding.line).toBeGreaterThan(0);
    } else if (answer.stage !== 'flags' && !(answer.stage === 'gates' && one.flags.length > 0)) {
      const { lenientReason } = decode(one.payload, { minor, file });
      const logged = /Using lenient decoding as strict decoding failed: (.*)$/s.exec(answer.warnings)?.[1] ?? '';
      expect(logged.startsWith(lenientReason)).toBe(true);
      expect(lenientReason === '').toBe(logged === '');
    }
  });

  test.each(rows.filter(([version, , one]) => one[version].stage === 'flags'))(
    '%s %s: flags are refused',
    (version, _id, one) => {
      // The command line alone decides; rules about single flags are the validation's.
      if (!/unknown|invalid argument/.test(one[version].message) || /labels/.test(one[version].message)) return;
      const result = check(one.payload, { minor: minorOf[version], file, flags: one.flags });
      expect(result.verdict).toBe('validate-error');
      expect(result.message).toBe(one[version].message);
    },
  );

  test.each(rows.filter(([version, , one]) => one[version].effective !== undefined))(
    '%s %s has the same effect',
    (version, _id, one) => {
      const minor = minorOf[version];
      const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
      const base = check(header, { minor, file }).effective!;
      const effective = check(one.payload, { minor, file, flags: one.flags }).effective!;
      const recorded = one[version].effective!;
      for (const [path, value] of Object.entries(recorded)) {
        const ours = getField(effective, path);
        // The record is read as JSON, in doubles.
        const shown = typeof ours === 'string' ? places(ours) : typeof ours === 'bigint' ? Number(ours) : ours;
        // configz of 1.23 leaves out what is empty.
        expect(version === 'v1.23' && isEmpty(shown) ? null : shown, path).toEqual(value);
      }
      expect(changes(base, effective).filter((path) => !(path in recorded) && !unseen[version].includes(path))).toEqual(
        [],
      );
    },
  );
});

/** Fields that the recording itself set, or could not show. */
const unseen = {
  'v1.23': [
    'authentication.anonymous.enabled',
    'authorization.mode',
    'cgroupsPerQOS',
    'enforceNodeAllocatable',
    'failSwapOn',
    'tlsCertFile',
    'tlsPrivateKeyFile',
    'logging.verbosity',
    'clusterDNS',
  ],
  'v1.32': ['logging.verbosity'],
};

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function changes(a: Record<string, unknown>, b: Record<string, unknown>, prefix = ''): string[] {
  return Object.keys(b).flatMap((key) => {
    const path = prefix + key;
    const [x, y] = [a[key], b[key]];
    const bothObjects = [x, y].every((side) => typeof side === 'object' && side !== null && !Array.isArray(side));
    const isStruct = ['authentication', 'authorization', 'logging', 'memorySwap', 'crashLoopBackOff'].includes(
      path.split('.')[0]!,
    );
    if (bothObjects && isStruct) return changes(x as Record<string, unknown>, y as Record<string, unknown>, `${path}.`);
    if (path === 'tracing' && !sameValue(x, y, path))
      return Object.keys(y as object)
        .filter((name) => (y as Record<string, unknown>)[name] !== null)
        .map((name) => `tracing.${name}`);
    return sameValue(x, y, path) || (x === null && isEmpty(y)) ? [] : [path];
  });
}

test('decode throws nothing but its own error', () => {
  expect(() => decode('{', { minor: 32 })).toThrow(DecodeError);
});
