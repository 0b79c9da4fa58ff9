/** Concurrent changes: a change that is under way loses nothing that it needs. */
import { describe, expect, test } from 'vitest';
import type { Validator } from '../src/agent/validate/validate.js';
import { createClusterRig } from './cluster-rig.js';
import { simpleValidator } from './rig/node.js';

describe('a config that is being validated', () => {
  /** A node that runs one config, and validates a second until the test gives the answer. */
  const whileValidating = async () => {
    let [onAsked, onAnswer] = [() => {}, () => {}];
    const asked = new Promise<void>((resolve) => (onAsked = resolve));
    const answer = new Promise<void>((resolve) => (onAnswer = resolve));
    let simple: Validator;
    const validator: Validator = {
      async validate(candidate, options) {
        if (candidate.checkpoint?.source.name === 'second') {
          onAsked();
          await answer;
        }
        return simple.validate(candidate, options);
      },
    };
    const rig = await createClusterRig({ node: { validator }, boot: false });
    simple = simpleValidator(rig.node.healthzPort);
    rig.node.boot();
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('first', { kubelet: rig.node.config() });
    await rig.point('first');
    await rig.until('first', () => rig.config?.active?.configMap?.name === 'first');
    await rig.createConfigMap('second', { kubelet: rig.node.config('eventRecordQPS: 2') });
    await rig.point('second');
    return { rig, asked, answer: onAnswer };
  };

  test('is not garbage-collected while the running one settles', async () => {
    const { rig, asked, answer } = await whileValidating();
    await asked;
    // Chooses again, and garbage-collects.
    await rig.node.request({ verb: 'retry' });
    answer();
    await rig.until('second', () => rig.config?.active?.configMap?.name === 'second');
    expect(rig.node.log()).not.toContain('config cannot run');
  });

  test('keeps its checkpoint also before it is validated, while the version of the kubelet is read', async () => {
    let [onAsked, onAnswer] = [() => {}, () => {}];
    const asked = new Promise<void>((resolve) => (onAsked = resolve));
    const answer = new Promise<void>((resolve) => (onAnswer = resolve));
    let replaced = false;
    const rig = await createClusterRig({
      node: {
        driver(driver) {
          const fingerprint = driver.fingerprint.bind(driver);
          return { fingerprint: () => `${fingerprint()}${replaced}` };
        },
        run: (run) => async (command, timeoutMs) => {
          const output = await run(command, timeoutMs);
          if (!replaced) return output;
          onAsked();
          await answer;
          return output;
        },
      },
    });
    await rig.createConfigMap('first', { kubelet: rig.node.config() });
    await rig.point('first');
    await rig.until('first', () => rig.config?.active?.configMap?.name === 'first');
    replaced = true;
    await rig.createConfigMap('second', { kubelet: rig.node.config('eventRecordQPS: 2') });
    await rig.point('second');
    await asked;
    replaced = false;
    await rig.node.request({ verb: 'retry' });
    onAnswer();
    await rig.until('second', () => rig.config?.active?.configMap?.name === 'second');
    expect(rig.node.log()).not.toContain('config cannot run');
  });
});

describe('the config that a reset replaces', () => {
  test.each([
    ['is kept as the previous config if it was healthy', '# good', true],
    ['is not kept if it never was', '# unhealthy', false],
  ])('%s', async (_name, order, isKept) => {
    const rig = await createClusterRig();
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('it', { kubelet: rig.node.config(order) });
    await rig.point('it');
    await rig.node.until('started', () => rig.node.starts().at(-1)?.configFile !== undefined);
    if (isKept) await rig.until('active', () => rig.config?.active?.configMap?.name === 'it');
    // Local crashes, so that the previous config is needed.
    rig.node.breakLocal('# exit 1');
    const starts = rig.node.starts().length;
    await rig.assign(null);
    // Three crashes of local, then what is left.
    await rig.node.until('another start', () => rig.node.starts().length > starts + 3);
    expect(rig.node.starts().at(-1)?.configFile?.includes('checkpoints')).toBe(isKept);
  });
});
