/**
 * Validation by the hollow kubelet: started with a lock file that cannot be created, it decodes, validates and exits,
 * as real kubelets did with the recorded documents.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readableOracleCases } from '../../../test/evidence/read.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { systemClock } from '../../clock.js';
import { check } from '../../config/check.js';
import { systemRandom } from '../../random.js';
import { runHollowKubelet } from './hollow.js';
import { createKlog } from './klog.js';
import { readHollowOptions } from './options.js';

const dir = temporaryDir();
const file = join(dir, 'kubelet.yaml');
const lock = join(dir, 'no', 'lock');
const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

async function start(text: string | undefined, version: string, flags: string[] = []) {
  if (text !== undefined) writeFileSync(file, text);
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const args = [
    ...(text === undefined ? [] : [`--config=${file}`]),
    `--cert-dir=${join(dir, 'pki')}`,
    `--lock-file=${lock}`,
  ];
  const code = await runHollowKubelet(readHollowOptions([...args, ...flags], version), {
    check,
    clock: systemClock,
    random: systemRandom,
    log: createKlog({ write, pid: 1234567, clock: { now: () => Date.parse('2026-11-15T20:36:22.814Z') } }),
    print: write,
    env: {},
    reletVersion: '0.0.0',
    signal: AbortSignal.timeout(20_000),
  });
  return { code, lines, last: lines.at(-1)! };
}

describe('validation of the config', () => {
  test.each(['1.23.17', '1.32.1'])(
    '%s stops at the lock with an accepted config, and says what it is',
    async (version) => {
      const { code, lines, last } = await start(`${header}maxPods: 50\n`, version);
      expect(code).toBe(1);
      expect(lines[0]).toBe(
        `I1115 20:36:22.814000 1234567 hollow.ts:1] "Kubelet version" kubeletVersion="v${version}"\n`,
      );
      expect(lines[1]).toContain('This is the hollow kubelet of relet');
      expect(last).toContain(
        `err="failed to run Kubelet: unable to acquire file lock on \\"${lock}\\": no such file or directory"`,
      );
    },
  );

  test('a config that passes validation and fails at start is accepted', async () => {
    const { last } = await start(`${header}evictionHard: {memory.available: bogus}\n`, '1.32.1');
    expect(last).toContain('unable to acquire file lock');
  });

  test('a kubelet without a config file starts with defaults', async () => {
    expect((await start(undefined, '1.32.1')).last).toContain('unable to acquire file lock');
  });

  test('errors have the form of the kubelet version', async () => {
    const bad = `${header}eventRecordQPS: -1\n`;
    const why = 'invalid configuration: eventRecordQPS (--event-qps) -1 must not be a negative number';
    expect((await start(bad, '1.23.17')).last).toContain(`] "Failed to validate kubelet configuration" err="${why}`);
    expect((await start(bad, '1.32.1')).last).toContain(
      `] "command failed" err="failed to validate kubelet configuration, error: ${why}, path: &TypeMeta{Kind:,APIVersion:,}"`,
    );
  });

  test('a missing config file is named in the error', async () => {
    const { code, last } = await start(undefined, '1.32.1', ['--config=/no/such/file']);
    expect(code).toBe(1);
    expect(last).toContain('error: open /no/such/file: no such file or directory"');
  });

  test('a missing clientCAFile is an error before the lock file', async () => {
    const { last } = await start(`${header}authentication: {x509: {clientCAFile: ca.crt}}\n`, '1.32.1');
    const path = join(dir, 'ca.crt');
    expect(last).toContain(
      `"failed to construct kubelet dependencies: unable to load client CA file ${path}: open ${path}: no such file or directory"`,
    );
  });
});

describe('documents given to real kubelets', () => {
  test.each([
    ['v1.23', '1.23.17'],
    ['v1.32', '1.32.1'],
  ] as const)('%s: same exit, same words', async (key, version) => {
    const differ: string[] = [];
    const settled = readableOracleCases().filter(({ hostDependent }) => hostDependent !== true);
    for (const { id, payload, flags, [key]: real } of settled) {
      const { code, last, lines } = await start(payload, version, flags);
      const accepted = last.includes('unable to acquire file lock');
      if (accepted !== (real.verdict === 'accepted')) differ.push(`${id}: ${real.verdict}, but ${last}`);
      if (real.verdict === 'accepted') continue;
      if (code !== (real.stage === 'panic' ? 2 : 1)) differ.push(`${id}: exit ${code}`);
      const logged = lines.join('').replaceAll(file, '<FILE>').replaceAll(dir, '<DIR>');
      const texts = [real.message, ...(real.messageVariants ?? [])].map((text) =>
        real.stage === 'panic' ? text : JSON.stringify(text).slice(1, -1),
      );
      if (!texts.some((text) => logged.includes(text))) differ.push(`${id}: ${texts[0]}\n   but ${logged}`);
    }
    expect(settled.length).toBeGreaterThan(300);
    expect(differ).toEqual([]);
  });
});
