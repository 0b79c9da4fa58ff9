/** The preview of a change, before it is confirmed. */
import { expect, test } from 'vitest';
import { impactOf, needsMeaning, themes } from '../../config/catalogue.js';
import { previewChanges, summarize } from '../../fleet/preview.js';
import { previewText } from './change-text.js';

const text = (path: string, before: unknown, after: unknown) => {
  const change = { path, before, after };
  const impact = impactOf(change, { minor: 32, before: {}, after: {} })!;
  return previewText(summarize([{ ...change, ...impact }]), 80).join('\n');
};

test.each<[string, unknown, unknown, RegExp]>([
  ['maxPods', 110, 5, /The youngest pods .* fail with OutOfpods/],
  ['evictionHard[memory.available]', '100Mi', '90%', /Pods are evicted within seconds/],
  ['enableServer', true, false, /kubectl logs, exec, .* lose the node/],
  ['clusterDNS', ['10.0.0.1'], ['10.0.0.2'], /Running pods keep the old value .* leaves every new pod without names/s],
])('a change of %s shows what it may do, whatever its class', (path, before, after, risk) => {
  expect(text(path, before, after).replace(/\s+/g, ' ')).toMatch(risk);
});

test.each<[string, unknown, unknown, string]>([
  ['maxPods', 110, 150, 'Impact: kubelet restart. Running pods are not affected.'],
  ['maxPods', 110, 5, 'Impact: kubelet restart. The effect on running pods is not known.'],
  ['evictionHard[memory.available]', '1Gi', '2Gi', 'Impact: kubelet restart. Running pods may be evicted.'],
  ['podPidsLimit', 100, 50, 'Impact: kubelet restart. Running pods keep the old value until they are created\nagain.'],
  ['syncFrequency', '1m', '2m', 'Impact: kubelet restart. Running pods are not affected.'],
])('the impact of %s from %s to %s says of pods what is established', (path, before, after, impact) => {
  expect(text(path, before, after).split(/\n\n|\nWatch: /)[1]).toBe(impact);
});

test('the signals to watch are named below the impact', () => {
  expect(text('evictionHard[memory.available]', '1Gi', '2Gi').split('\n').at(-1)).toMatch(
    /^Watch: evictions, .* \(at once\)$/,
  );
});

test('a change that only a boot can show to be wrong says that its trial cannot find out', () => {
  expect(text('protectKernelDefaults', false, true)).toContain('    A trial cannot find out: A kubelet without it');
  expect(text('protectKernelDefaults', true, false)).not.toContain('A trial cannot find out');
});

test('failing pods are named, at most five of them, within 80 columns', () => {
  const pods = Array.from({ length: 8 }, (_, at) => ({ pod: `default/web-6f8d9c7b5-${at}`, reason: 'OutOfpods' }));
  const [change] = previewChanges({ before: {}, after: { maxPods: 2 }, minor: 36 }).changes;
  const lines = previewText(summarize([change!], pods), 80);
  const words = lines.join(' ').replace(/\s+/g, ' ');
  expect(words).toContain(
    '8 running pods will fail, because the kubelet rejects them at the restart: default/web-6f8d9c7b5-0 (OutOfpods)',
  );
  expect(words).toMatch(/web-6f8d9c7b5-4 \(OutOfpods\) and 3 more\. Watch: /);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test('a value that the new config leaves out is shown as the default', () => {
  const preview = previewChanges({ before: { clusterDomain: 'a.b', maxPods: 250 }, after: {}, minor: 36 });
  expect(previewText(preview, 80)).toEqual(
    expect.arrayContaining([
      '    + "" (the default: the new config does not set it)',
      '    + 110 (the default: the new config does not set it)',
    ]),
  );
});

test.each<[string, unknown, string]>([
  ['clusterDomain', '{}', '    + "{}"'],
  ['clusterDomain', '[a]', '    + "[a]"'],
  ['clusterDomain', 'a.b', '    + a.b'],
  ['evictionHard', {}, '    + {}'],
])('%s: a text that reads as a map or a list is quoted, a map is not', (path, after, line) => {
  expect(text(path, undefined, after).split('\n')).toContain(line);
});

test('no text of the catalogue promises that running pods are left alone: that depends on the change', () => {
  const texts = [
    ...Object.values(needsMeaning),
    ...themes.flatMap(([, entries]) => Object.values(entries)).map(({ why }) => why),
  ];
  for (const words of texts) expect(words).not.toMatch(/pods (stay\.|are not affected|keep running)|harmless/i);
});
