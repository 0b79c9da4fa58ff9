/** Every impact has its sentence, whatever the change needs and does to pods. */
import { expect, expectTypeOf, test } from 'vitest';
import { needsInOrder, type PodsEffect } from './catalogue/entry.js';
import { type ImpactSentence, impactSentence } from './impact-sentence.js';

const effects: PodsEffect[] = [
  { kind: 'unaffected' },
  { kind: 'new containers only' },
  { kind: 'may be evicted' },
  { kind: 'fail admission', pods: [] },
  { kind: 'fail admission', pods: [{ pod: 'default/web', reason: 'OutOfpods' }] },
  { kind: 'unknown' },
];

test.each(needsInOrder)('an impact of class %s is never without its value', (needs) => {
  for (const pods of effects) {
    const sentence = impactSentence({ needs, pods });
    expect(sentence).toMatch(/^Impact: [a-z][^.]+\. ?/);
    expect(sentence).not.toMatch(/undefined|: \.| {2}|\.\./);
  }
});

test('a text that impactSentence did not make is not an impact: the compiler rejects it', () => {
  expectTypeOf<string>().not.toExtend<ImpactSentence>();
  expectTypeOf(impactSentence).returns.toEqualTypeOf<ImpactSentence>();
});
