/** What a person reads about a change before saying yes. */
import { expect, test } from 'vitest';
import { impactOf, needsMeaning, themes } from '../../config/catalogue.js';
import { summarize } from '../../fleet/preview.js';
import { previewText } from './change-text.js';

const text = (path: string, before: unknown, after: unknown) => {
  const change = { path, before, after };
  const impact = impactOf(change, { minor: 32, before: {}, after: {} })!;
  return previewText(summarize([{ ...change, ...impact }]), 80).join('\n');
};

test.each<[string, unknown, unknown, RegExp]>([
  ['maxPods', 110, 5, /The youngest pods .* fail with OutOfpods/],
  ['evictionHard[memory.available]', '100Mi', '90%', /pods die within seconds/],
  ['enableServer', true, false, /kubectl logs, exec, .* lose the node/],
  ['clusterDNS', ['10.0.0.1'], ['10.0.0.2'], /Pods that stay keep asking.*leaves every new pod without names/s],
])('a change of %s shows what it may do, whatever its class', (path, before, after, risk) => {
  expect(text(path, before, after).replace(/\s+/g, ' ')).toMatch(risk);
});

test('a change that needs no more than a restart says that, and no more', () => {
  expect(text('maxPods', 110, 5)).toMatch(/\n\nImpact: kubelet restart\.$/);
});

test('nothing promises that running pods are left alone: nobody has looked at them', () => {
  const texts = [
    ...Object.values(needsMeaning),
    ...themes.flatMap(([, entries]) => Object.values(entries)).map(({ why }) => why),
  ];
  for (const words of texts) expect(words).not.toMatch(/pods (stay\.|are not affected|keep running)|harmless/i);
});
