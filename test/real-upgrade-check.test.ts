/**
 * Compares the findings of the upgrade check with two real kubelets that are given the same documents and flags: that of
 * KUBEBUILDER_ASSETS and, of a later minor, that of KUBEBUILDER_ASSETS_AFTER. Each stops after validation, because it cannot
 * lock its lock file. Needs neither a container runtime nor root:
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.36 KUBEBUILDER_ASSETS_AFTER=/opt/k8s-1.37 npx vitest run test/real-upgrade-check.test.ts
 */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeMachine } from '../src/agent/validate/host-facts.js';
import { check } from '../src/config/check.js';
import { flagRows, otherFlags } from '../src/config/facts/flag-rows.js';
import { ruleRows } from '../src/config/facts/rule-rows.js';
import { anyValueOf, flagAt } from '../src/config/flags.js';
import { gateAt, gatesOf } from '../src/config/gates.js';
import { header } from '../src/config/header.js';
import { meanings } from '../src/config/upgrade/meanings.js';
import { upgradeCheck } from '../src/config/upgrade-check.js';
import { type Kubelet, kubeletBinary, minutes, rejectionBy } from './real-kubelet-rig.js';

const old = kubeletBinary('KUBEBUILDER_ASSETS');
const after = kubeletBinary('KUBEBUILDER_ASSETS_AFTER');
const [from, to] = [old?.minor ?? 0, after?.minor ?? 0];
const isPair = 0 < from && from < to;

interface Asked {
  set?: object;
  flags?: string[];
}

/** Kubelets before 1.31 ignore the field. */
const textOf = ({ set }: Asked) => JSON.stringify({ ...header, failCgroupV1: false, ...set });

const errorOf = (kubelet: Kubelet, asked: Asked) => rejectionBy(kubelet, textOf(asked), asked.flags ?? []);

/** Whether each of the two takes it, and whether the check has the reason of the new one. What is only expected at startup is left out. */
async function compared(asked: Asked): Promise<{ real: string; ours: string }> {
  const errors = [await errorOf(old!, asked), await errorOf(after!, asked)] as const;
  const options = { flags: asked.flags ?? [], host: describeMachine() };
  const before = check(textOf(asked), { ...options, minor: from, lenient: true });
  const { findings } = upgradeCheck(textOf(asked), { ...options, from, to });
  const ours = findings.filter(({ severity, source }) => severity === 'error' && source === 'kubelet');
  const reason = ours.find(({ message }) => errors[1]?.includes(message));
  const line = (...answers: unknown[]) => [JSON.stringify(asked), ...answers].join(' ');
  return {
    real: line(errors[0] === undefined, errors[1] === undefined, errors[1]),
    ours: line(before.message === '', ours.length === 0, reason ? errors[1] : ours[0]?.message),
  };
}

async function compareAll(all: readonly Asked[]): Promise<void> {
  const results = [];
  for (const asked of all) results.push(await compared(asked));
  expect(results.map(({ ours }) => ours)).toEqual(results.map(({ real }) => real));
}

describe.skipIf(!isPair)(
  isPair ? `${old!.version} and ${after!.version}` : 'two real kubelets (skipped: there are none of different minors)',
  { timeout: 30 * minutes },
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
      const isGone = (name: string) => flagAt(name, from) !== undefined && flagAt(name, to) === undefined;
      // A kubelet that was built without cloud providers does not have it.
      const gone = names.filter((name) => isGone(name) && name !== 'azure-container-registry-config');
      expect(gone.length).toBeGreaterThan(0);
      const usable = (name: string) => (name === 'stderrthreshold' ? 'ERROR' : anyValueOf(name));
      await compareAll(gone.map((name) => ({ flags: [`--${name}=${usable(name)}`] })));
    });
  },
);
