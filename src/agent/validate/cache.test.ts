/** When a cached validation result is used, and when a config is validated again. */

import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { realFiles } from '../../atomic-file.js';
import { createLog } from '../../log.js';
import type { Checkpoint } from '../state/checkpoints.js';
import { JsonRecord } from '../state/json-record.js';
import { type CacheOptions, cached, validatedRecord } from './cache.js';
import type { Accepted, ValidationResult } from './validate.js';

const log = createLog({ format: 'text', write() {} });
const signal = new AbortController().signal;

const accepted: Accepted = {
  kind: 'accepted',
  warnings: ['a warning'],
  healthz: { host: '127.0.0.1', port: 10248 },
  staticPodPath: undefined,
  grounds: { staticPodPath: '/manifests', hasStaticPods: false, providerID: 'cloud://1' },
};

const candidateOf = (digest = 'd', annotations: Record<string, string> = {}, kubeletVersion = 'v1.32.1') => ({
  checkpoint: { digest, annotations } as Checkpoint,
  document: { file: '/dir/checkpoints/uid/1/kubelet', text: '', digest },
  kubeletVersion,
});

/** A node that validated once; then a new process on the same disk, with changes. */
async function validatedOnce(answer: ValidationResult = accepted) {
  const meta = temporaryDir();
  const process = (changed: Partial<CacheOptions> = {}) => {
    let loads = 0;
    const record = new JsonRecord(validatedRecord, { meta, files: realFiles, log });
    const validator = cached({
      record,
      circumstances: () => ['flags'],
      providerID: () => undefined,
      hasEntries: async () => false,
      load: async () => {
        loads++;
        return { validate: async () => answer };
      },
      ...changed,
    });
    return { validator, loads: () => loads };
  };
  const first = process();
  const candidate = candidateOf();
  expect(await first.validator.validate(candidate, { steps: 'all', signal })).toBe(answer);
  return { candidate, again: process };
}

describe('a cached result', () => {
  test('that accepted is answered from disk by the next process, which loads no validator', async () => {
    const { candidate, again } = await validatedOnce();
    const { validator, loads } = again();
    expect(await validator.validate(candidate, { steps: 'no-probe', signal })).toEqual(accepted);
    expect(await validator.validate(candidate, { steps: 'no-probe-no-forecast', signal })).toEqual(accepted);
    expect(loads()).toBe(0);
  });

  test.each<[string, Partial<CacheOptions>]>([
    ['flags, local files or the machine', { circumstances: () => ['other flags'] }],
    ['whether there are static pods', { hasEntries: async (dir) => dir === '/manifests' }],
    ['the identity of the machine', { providerID: () => 'cloud://2' }],
  ])('is asked for again after a change of %s', async (_what, changed) => {
    const { candidate, again } = await validatedOnce();
    const { validator, loads } = again(changed);
    await validator.validate(candidate, { steps: 'no-probe', signal });
    expect(loads()).toBe(1);
  });

  test.each([
    ['other bytes', candidateOf('e')],
    ['an annotation', candidateOf('d', { 'relet.dev/skip-forecast': 'true' })],
    ['another kubelet', candidateOf('d', {}, 'v1.33.0')],
    ['the local config', { ...candidateOf(), checkpoint: undefined }],
  ])('does not answer for %s', async (_what, candidate) => {
    const { again } = await validatedOnce();
    const { validator, loads } = again();
    await validator.validate(candidate, { steps: 'no-probe', signal });
    expect(loads()).toBe(1);
  });

  test('holds while the identity of the machine is not known yet, and once it is known to be the same', async () => {
    const { candidate, again } = await validatedOnce();
    for (const providerID of [undefined, 'cloud://1']) {
      const { validator, loads } = again({ providerID: () => providerID });
      await validator.validate(candidate, { steps: 'no-probe', signal });
      expect(loads()).toBe(0);
    }
  });

  test('is asked for whole when nothing was accepted before, whatever the disk says', async () => {
    const { candidate, again } = await validatedOnce();
    const { validator, loads } = again();
    await validator.validate(candidate, { steps: 'all', signal });
    expect(loads()).toBe(1);
  });

  test('that refused is not remembered', async () => {
    const refusal: ValidationResult = {
      kind: 'rejected',
      reason: 'ValidationFailed',
      cause: new Error('no'),
      warnings: [],
    };
    const { candidate, again } = await validatedOnce(refusal);
    const { validator, loads } = again();
    expect(await validator.validate(candidate, { steps: 'no-probe', signal })).toBe(refusal);
    expect(loads()).toBe(1);
  });

  test('is one of a few that are kept', async () => {
    const { candidate, again } = await validatedOnce();
    const { validator } = again();
    for (let i = 0; i < 20; i++) await validator.validate(candidateOf(`digest-${i}`), { steps: 'all', signal });
    const later = again();
    await later.validator.validate(candidateOf('digest-19'), { steps: 'no-probe', signal });
    expect(later.loads()).toBe(0);
    await later.validator.validate(candidate, { steps: 'no-probe', signal });
    expect(later.loads()).toBe(1);
  });
});
