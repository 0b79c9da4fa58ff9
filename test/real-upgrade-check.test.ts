/**
 * What the check of an upgrade lists, compared with two real kubelets that are given the same documents and flags: that of
 * KUBEBUILDER_ASSETS and, of a later minor, that of KUBEBUILDER_ASSETS_AFTER. Each stops after validation, because it cannot
 * lock its lock file. Needs neither a container runtime nor root:
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.36 KUBEBUILDER_ASSETS_AFTER=/opt/k8s-1.37 npx vitest run test/real-upgrade-check.test.ts
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeMachine } from '../src/agent/validate/host-facts.js';
import { probeKubelet } from '../src/agent/validate/probe.js';
import { check } from '../src/config/check.js';
import { flagRows, otherFlags } from '../src/config/facts/flag-rows.js';
import { ruleRows } from '../src/config/facts/rule-rows.js';
import { anyValueOf, flagAt } from '../src/config/flags.js';
import { gateAt, gatesOf } from '../src/config/gates.js';
import { header } from '../src/config/header.js';
import { meanings } from '../src/config/upgrade/meanings.js';
import { upgradeCheck } from '../src/config/upgrade-check.js';
import { type Kubelet, kubeletBinary, minutes } from './real-kubelet-rig.js';

const old = kubeletBinary('KUBEBUILDER_ASSETS');
const after = kubeletBinary('KUBEBUILDER_ASSETS_AFTER');
const [from, to] = [old?.minor ?? 0, after?.minor ?? 0];
const isPair = 0 < from && from < to;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'relet-upgrade-check-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Asked {
  set?: object;
  flags?: string[];
}

/** Kubelets before 1.31 ignore the field. */
const textOf = ({ set }: Asked) => JSON.stringify({ ...header, failCgroupV1: false, ...set });

async function errorOf({ path }: Kubelet, asked: Asked): Promise<string | undefined> {
  const file = join(dir, 'kubelet.json');
  await writeFile(file, textOf(asked));
  const run = (args: string[], timeout: number) =>
    new Promise<{ code: number | null; output: string; timedOut: boolean }>((resolve) => {
      const child = execFile(path, args, { timeout, maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
        resolve({ code: child.exitCode, output: stdout + stderr, timedOut: error?.killed === true }),
      );
    });
  const places = [`--config=${file}`, `--root-dir=${dir}`, `--cert-dir=${join(dir, 'pki')}`];
  const answer = await probeKubelet({ run }, [...places, ...(asked.flags ?? [])]);
  if (answer.kind === 'unknown') throw new Error(`${JSON.stringify(asked)}: ${answer.reason}`);
  return answer.kind === 'rejected' ? answer.message : undefined;
}

/** Whether each of the two takes it, and whether the check has the reason of the new one. What is only expected at startup is left out. */
async function compared(asked: Asked): Promise<{ real: string; said: string }> {
  const errors = [await errorOf(old!, asked), await errorOf(after!, asked)] as const;
  const options = { flags: asked.flags ?? [], host: describeMachine() };
  const before = check(textOf(asked), { ...options, minor: from, lenient: true });
  const { findings } = upgradeCheck(textOf(asked), { ...options, from, to });
  const ours = findings.filter(({ severity, source }) => severity === 'error' && source === 'kubelet');
  const reason = ours.find(({ message }) => errors[1]?.includes(message));
  const line = (...answers: unknown[]) => [JSON.stringify(asked), ...answers].join(' ');
  return {
    real: line(errors[0] === undefined, errors[1] === undefined, errors[1]),
    said: line(before.message === '', ours.length === 0, reason ? errors[1] : ours[0]?.message),
  };
}

async function compareAll(all: readonly Asked[]): Promise<void> {
  const results = [];
  for (const asked of all) results.push(await compared(asked));
  expect(results.map(({ said }) => said)).toEqual(results.map(({ real }) => real));
}

describe.skipIf(!isPair)(
  isPair ? `${old!.version} and ${after!.version}` : 'two real kubelets (skipped: there are none of different minors)',
  { timeout: 8 * minutes },
  () => {
    test('values that are rejected or accepted from a minor on, and values that change their meaning', async () => {
      const examples = [
        ...ruleRows.map(([, , , , example]) => parse(`{${example}}`)),
        ...meanings.map(({ example }) => parse(example)),
      ];
      await compareAll(examples.map((set) => ({ set })));
    });

    test('gates that are gone or locked, and gates that are neither', async () => {
      const known = gatesOf(from).map((name) => ({ name, before: gateAt(name, from)!, now: gateAt(name, to) }));
      const gone = known.filter(({ now }) => now === undefined).map(({ name, before }) => [name, before.default]);
      const locked = known.filter(({ now }) => now?.locked).map(({ name, now }) => [name, !now!.default]);
      const others = known.filter(({ now }) => now?.locked === false).map(({ name, before }) => [name, before.default]);
      const asked = [...gone, ...locked, ...others].map(([name, value]) => ({
        set: { featureGates: { [`${name}`]: value } },
      }));
      expect(gone.length).toBeGreaterThan(0);
      await compareAll(asked);
    });

    test('flags that are gone', async () => {
      const names = [
        ...flagRows.map(([name]) => name),
        ...[...otherFlags.matchAll(/([a-z0-9-]+):/g)].map(([, name]) => name!),
      ];
      const gone = names.filter((name) => flagAt(name, from) !== undefined && flagAt(name, to) === undefined);
      expect(gone.length).toBeGreaterThan(0);
      await compareAll(gone.map((name) => ({ flags: [`--${name}=${anyValueOf(name)}`] })));
    });
  },
);
