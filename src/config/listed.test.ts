/** A check of thousands of mistakes lists the first ones of each field and counts the others; none of them is lost. */
import { describe, expect, test } from 'vitest';
import { configText, overlayText } from '../../test/overlay-files.js';
import { check } from './check.js';
import { checkOverlay } from './check-overlay.js';
import { decode } from './decode.js';
import { countOf, listed, mostListed } from './listed.js';
import type { Finding } from './model.js';
import { readOverlay } from './overlay.js';

const minor = 37;
const count = 5000;
const lines = (line: (index: number) => string) => Array.from({ length: count }, (_, index) => line(index)).join('\n');
const errorsIn = (findings: readonly Finding[]) => findings.filter(({ severity }) => severity === 'error');

describe('a document with 5,000 mistakes', () => {
  test.each([
    ['keys that cannot be reserved', `kubeReserved:\n${lines((i) => `  k${i}: 1Mi`)}`, 'kubeReserved'],
    [
      'items that cannot be enforced',
      `enforceNodeAllocatable:\n${lines((i) => `- what${i}`)}`,
      'enforceNodeAllocatable',
    ],
    ['values of the wrong type', `featureGates:\n${lines((i) => `  K${i}: text`)}`, 'featureGates'],
    ['unknown fields', lines((i) => `unknown${i}: 1`), ''],
    ['duplicate fields in YAML', `maxPods: 1\n${lines(() => 'maxPods: 1')}`, ''],
  ])('%s: the first are listed, the others counted', (_name, body, about) => {
    const { findings } = check(configText(body), { minor });
    const errors = errorsIn(findings);
    expect(countOf(errors)).toBe(count);
    expect(errors.length).toBe(mostListed + 1);
    const more = count - mostListed;
    const message = `${more} more errors${about && ` about ${about}`} are not listed`;
    expect(errors.filter((error) => error.more !== undefined)).toMatchObject([{ message, more }]);
  });

  test("the kubelet's message names the first ones and the number of the others, so that it does not grow with the list", () => {
    const message = (items: number) =>
      check(configText(`enforceNodeAllocatable: [${Array.from({ length: items }, (_, i) => `what${i}`)}]`), { minor })
        .message;
    expect(message(count).match(/option "what/g)).toHaveLength(mostListed);
    expect(message(count)).toMatch(/, 4900 more errors about enforceNodeAllocatable are not listed\]$/);
    expect(message(2 * count)).toHaveLength(message(count).length);
  });

  test('duplicate fields in JSON are counted', () => {
    const body = `{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":1,${Array(count).fill('"maxPods":1').join()}}`;
    const { findings } = decode(body, { minor, strict: false });
    expect(countOf(findings)).toBe(count);
    expect(findings.length).toBe(mostListed + 1);
  });

  test.each([
    ['unknown paths under unset', overlayText(`unset:\n${lines((i) => `- maxPod${i}`)}`)],
    ['null values', overlayText(`config:\n  kubeReserved:\n${lines((i) => `    k${i}: null`)}`)],
  ])('an overlay with %s: its error counts all of them', (_name, overlay) => {
    const { error, findings } = readOverlay(overlay, { minor });
    expect(countOf(errorsIn(findings))).toBe(count);
    expect(error?.message).toMatch(new RegExp(`${count - 1} more errors$`));
    expect(errorsIn(findings).length).toBe(mostListed + 1);
    expect(checkOverlay(overlay, { minor, local: [] })).toMatchObject({ verdict: 'decode-error', startup: 'fails' });
  });
});

test('errors of the kubelet are counted apart from those of relet, which a kubelet that accepts the config does not overrule', () => {
  const found = listed(
    Array.from({ length: 400 }, (_, index): Finding => {
      const source = index % 2 === 0 ? 'kubelet' : 'relet';
      return { severity: 'error', source, path: `featureGates[G${index}]`, message: `${index}` };
    }),
  );
  expect(found.slice(-2)).toMatchObject([
    { source: 'kubelet', more: 100 },
    { source: 'relet', more: 100 },
  ]);
});

test('errors are listed also behind many warnings about the same field', () => {
  const finding = (severity: Finding['severity'], index: number): Finding => {
    return { severity, source: 'relet', path: `featureGates[G${index}]`, message: `${index}` };
  };
  const warnings = Array.from({ length: 150 }, (_, index) => finding('warning', index));
  const found = listed([...warnings, finding('error', 150), finding('error', 151)]);
  expect(errorsIn(found).map(({ message }) => message)).toEqual(['150', '151']);
  expect(found.at(-1)).toMatchObject({ severity: 'warning', path: 'featureGates', more: 50 });
});
