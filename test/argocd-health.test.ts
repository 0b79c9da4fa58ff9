/** The health check for Argo CD in deploy/gitops, run by a Lua interpreter as Argo CD runs it: `obj` in, a table out. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { setProgressReasons, setReadyReasons, setStalledReasons } from '../src/api/condition-reasons.js';
import { needs } from './programs.js';

const lua = needs('lua5.4');
const patch = parse(readFileSync(join(import.meta.dirname, '../deploy/gitops/argocd-cm.yaml'), 'utf8'));
const check: string = patch.data['resource.customizations.health.relet.dev_NodeConfigSet'];

/** JSON as a table of Lua. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(literal).join(',')}}`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, one]) => `[${JSON.stringify(key)}]=${literal(one)}`)
      .join(',')}}`;
  return JSON.stringify(value);
}

function healthOf(obj: object): { status: string; message: string } {
  const program = `obj=${literal(obj)}\nlocal hs=(function()\n${check}\nend)()\nio.write(hs.status,"\\n",hs.message)`;
  const { status, stdout, stderr } = spawnSync('lua5.4', ['-'], { input: program, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [word = '', ...message] = stdout.split('\n');
  return { status: word, message: message.join('\n') };
}

type Kind = 'Ready' | 'Reconciling' | 'Stalled';
const set = (kind: Kind, reason: string, more: object = {}) => ({
  metadata: { name: 'gpu', generation: 3 },
  status: {
    observedGeneration: 3,
    conditions: ['Ready', 'Reconciling', 'Stalled'].map((type) => ({
      type,
      status: type === kind ? 'True' : 'False',
      reason,
      message: `${type} because.`,
    })),
    ...more,
  },
});

describe.skipIf(lua.isMissing)(`the health check for Argo CD${lua.note}`, () => {
  const reasons = (all: Record<string, { reason: string }>) => Object.values(all).map(({ reason }) => reason);
  const suspended = ['Paused', 'AwaitingApproval'];
  test.each([
    ...reasons(setReadyReasons).map((reason) => ['Ready' as Kind, reason, 'Healthy']),
    ...reasons(setStalledReasons).map((reason) => ['Stalled' as Kind, reason, 'Degraded']),
    ...reasons(setProgressReasons).map((reason) => [
      'Reconciling' as Kind,
      reason,
      suspended.includes(reason) ? 'Suspended' : 'Progressing',
    ]),
  ] as [Kind, string, string][])('%s with the reason %s is %s', (kind, reason, health) => {
    expect(healthOf(set(kind, reason))).toEqual({ status: health, message: `${reason}: ${kind} because.` });
  });

  test('what the set waits for is shown with its node names', () => {
    const waiting = 'waiting: 3 of 3 allowed unavailable: node-17 NotReady for 4m';
    expect(healthOf(set('Reconciling', 'BudgetSpent', { waiting })).message).toBe(`BudgetSpent: ${waiting}`);
  });

  test('a spec that the controller has not seen is never taken for what the status reports', () => {
    const old = set('Ready', 'RolloutComplete', { observedGeneration: 2 });
    expect(healthOf(old)).toEqual({ status: 'Progressing', message: 'the controller has not seen this spec yet' });
    expect(healthOf({ metadata: { name: 'gpu', generation: 1 } }).status).toBe('Progressing');
    expect(healthOf({ metadata: { name: 'gpu' }, status: {} }).status).toBe('Progressing');
  });
});
