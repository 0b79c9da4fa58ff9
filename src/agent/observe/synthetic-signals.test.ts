/** Made signals: which config makes them worse. */
import { describe, expect, test } from 'vitest';
import type { ObserveRequest } from '../../api/observe.js';
import { parseHarm, SyntheticSignals } from './synthetic-signals.js';

const request: ObserveRequest = { id: 'gpu/1/1/1', before: ['', ''], after: ['', ''] };

async function answerWith(harm: string, configText: string) {
  const made = new SyntheticSignals([parseHarm(harm)]);
  await made.run(() => configText);
  return made.answer(request).signals;
}

describe('made signals', () => {
  test.each([
    ['--v=2\nmaxPods: 66\n', 1.5],
    ['{"maxPods":66}', 1.5],
    ['maxPods: 660\n', 1],
    ['maxPods: 6\n', 1],
    ['kind: KubeletConfiguration\n', 1],
  ])('the config %j is worse by the factor %d', async (text, factor) => {
    const { podStartSeconds, cpuPressure } = await answerWith('maxPods=66:podStartSeconds=1.5', text);
    expect(podStartSeconds).toEqual([1, factor]);
    expect(cpuPressure).toEqual([0.02, 0.02]);
  });

  test('a count is so many workloads, and may be out of range', async () => {
    expect((await answerWith('maxPods=66:restarts=99999', 'maxPods: 66')).restarts).toEqual([0, 99999]);
  });

  test.each(['', 'maxPods', 'maxPods=66:exit-at-start', 'maxPods=66:slowness=2', 'maxPods=66:restarts=-1'])(
    '--hollow-worse-if=%s is rejected with the form',
    (text) => expect(() => parseHarm(text)).toThrow(/must be FIELD=VALUE:SIGNAL=FACTOR/),
  );
});
