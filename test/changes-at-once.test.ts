/** What happens while a change is under way: nothing that it needs is taken from it. */
import { describe, expect, test } from 'vitest';
import type { Judge } from '../src/agent/judge/judging.js';
import { simpleJudge } from './agent-rig.js';
import { createClusterRig } from './cluster-rig.js';

describe('a config that is being judged', () => {
  test('is not tidied away while the one that runs settles', async () => {
    let [onAsked, onAnswer] = [() => {}, () => {}];
    const asked = new Promise<void>((resolve) => (onAsked = resolve));
    const answer = new Promise<void>((resolve) => (onAnswer = resolve));
    let simple: Judge;
    const judge: Judge = {
      async judge(candidate, options) {
        if (candidate.checkpoint?.source.name === 'second') {
          onAsked();
          await answer;
        }
        return simple.judge(candidate, options);
      },
    };
    const rig = await createClusterRig({ node: { judge }, boot: false });
    simple = simpleJudge(rig.node.healthzPort);
    rig.node.boot();
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('first', { kubelet: rig.node.config() });
    await rig.point('first');
    await rig.until('first', () => rig.config?.active?.configMap?.name === 'first');
    await rig.createConfigMap('second', { kubelet: rig.node.config('eventRecordQPS: 2') });
    await rig.point('second');
    await asked;
    // Looks again at what runs, and tidies.
    await rig.node.ask({ verb: 'clear-verdict' });
    onAnswer();
    await rig.until('second', () => rig.config?.active?.configMap?.name === 'second');
    expect(rig.node.log()).not.toContain('config cannot run');
  });
});
