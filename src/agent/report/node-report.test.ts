/** The active config and the error beside it in the report, in every moment of a kubelet. */
import { describe, expect, test } from 'vitest';
import { sourceOf } from '../../../test/rig/node.js';
import { ConfigError } from '../../api/config-error.js';
import { type RunState, whatRuns } from './node-report.js';

const [it, before] = [sourceOf('1'), sourceOf('2')];
const rolledBack = new ConfigError('CrashLoop', '');
const earlier = new ConfigError('ValidationFailed', '');
const accepted = {
  kind: 'accepted' as const,
  warnings: [],
  healthz: undefined,
  staticPodPath: undefined,
};
const document = { file: '', text: '', digest: '' };
const choice = { rank: 'assigned' as const, source: it, document, accepted, key: '', kubeletVersion: 'v1.32.1' };
const fallback = { ...choice, error: rolledBack };
const started: RunState = {
  choice,
  next: undefined,
  alive: false,
  crash: undefined,
  onTrial: false,
};

describe('what is reported', () => {
  test.each<[string, Partial<RunState> | undefined, ConfigError | undefined, object]>([
    [
      'before any kubelet: what was reported last',
      undefined,
      earlier,
      { active: before, configError: 'ValidationFailed' },
    ],
    ['alive: what runs', { alive: true }, undefined, { active: it }],
    ['alive after an error: no error', { alive: true }, earlier, { active: it }],
    [
      'alive as a fallback: the error too',
      { alive: true, choice: fallback },
      undefined,
      { active: it, configError: 'CrashLoop' },
    ],
    [
      'rolled back and still alive: both',
      { alive: true, next: fallback },
      undefined,
      { active: it, configError: 'CrashLoop' },
    ],
    [
      'started after an error: the error stays until it runs',
      { onTrial: true },
      earlier,
      { active: before, configError: 'ValidationFailed' },
    ],
    [
      'started as a fallback: no error that names what does not run yet',
      { choice: fallback },
      undefined,
      { active: before },
    ],
    [
      'crashed as a fallback: why it was started',
      { choice: fallback, crash: 'x' },
      undefined,
      { active: before, configError: 'CrashLoop' },
    ],
    ['crashed: an error', { crash: 'x' }, undefined, { active: before, configError: 'KubeletCrashed' }],
    [
      'crashed on trial: the trial counts, and nothing is decided',
      { crash: 'x', onTrial: true },
      undefined,
      { active: before },
    ],
  ])('%s', (_name, change, configError, expected) => {
    const last = { assigned: it, active: before, ...(configError && { configError }) };
    const reported = whatRuns(change && { ...started, ...change }, it, last);
    expect({
      active: reported.active,
      ...(reported.configError && { configError: reported.configError.reason }),
    }).toEqual(expected);
  });

  test('an error about an earlier assignment goes with it', () => {
    const last = { assigned: before, active: before, configError: earlier };
    expect(whatRuns(started, it, last)).toEqual({ active: before, configError: undefined });
    expect(whatRuns(undefined, it, last)).toEqual({ active: before, configError: undefined });
  });
});
