/** docs/errors.md and the errors in the code are the same, both ways. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changed, rejected, rolledBack, trialPassed, upgradeRisk } from '../src/agent/report/events.js';
import { configOk } from '../src/agent/report/report.js';
import { explainExit } from '../src/agent/trial/exit.js';
import * as conditionReasons from '../src/api/condition-reasons.js';
import {
  bootReasons,
  type ConditionReason,
  expiryReasons,
  okReasons,
  owedReasons,
  trialReasons,
  trustReasons,
  unitReasons,
  unsignedReasons,
  upgradeReasons,
} from '../src/api/condition-reasons.js';
import { configErrors } from '../src/api/config-error.js';
import { upstreamWords } from '../src/api/upstream-words.js';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'errors.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| message') && !line.startsWith('| reason'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\|?\s*|\s*\|?$/g, '')));
const code = (cell: string | undefined) => cell?.replace(/^`|`$/g, '');

const errors = Object.entries(configErrors).map(([reason, { message }]) => ({ reason, message }));

describe('docs/errors.md', () => {
  const documented = rows.filter((row) => row.length === 5);

  test('every error has its row, with the words that a Node gets', () => {
    const fromPage = Object.fromEntries(
      documented.map(([name, beta, alpha]) => [name, { beta: code(beta), alpha: code(alpha) }]),
    );
    expect(fromPage).toEqual(upstreamWords);
  });

  test('every reason of a condition has its row, with the sentence of the code', () => {
    const row = (condition: string, { reason, message }: ConditionReason) => [reason, condition, message];
    const fromCode = [
      ...errors.map((text) => row('`ConfigOK` False', text)),
      ...Object.values(okReasons).map((text) => row('`ConfigOK` True', text)),
      row('`OnTrial` True', trialReasons.running),
      row('`OnTrial` False', trialReasons.none),
      ...Object.entries(owedReasons).map(([left, text]) =>
        row(`\`ActionOwed\` ${left === 'none' ? 'False' : 'True'}`, text),
      ),
      ...Object.entries(upgradeReasons).map(([risk, text]) =>
        row(`\`UpgradeRisk\` ${risk === 'none' ? 'False' : 'True'}`, text),
      ),
      ...Object.entries(unitReasons).map(([seen, text]) =>
        row(`\`UnitOK\` ${seen === 'none' ? 'True' : 'False'}`, text),
      ),
      row('`BootRisk` True', bootReasons.crashed),
      row('`BootRisk` False', bootReasons.none),
      row('`TrustFileUsable` True', trustReasons.read),
      row('`TrustFileUsable` False', trustReasons.unusable),
      row('`SignatureExpired` True', expiryReasons.expired),
      row('`SignatureExpired` False', expiryReasons.none),
      row('`UnsignedAccepted` True', unsignedReasons.accepted),
      row('`UnsignedAccepted` False', unsignedReasons.none),
    ];
    const fromPage = rows
      .filter(
        (cells) =>
          /ConfigOK|OnTrial|ActionOwed|UpgradeRisk|UnitOK|BootRisk|TrustFileUsable|SignatureExpired|UnsignedAccepted/.test(
            cells[1] ?? '',
          ) && cells.length === 3,
      )
      .map(([reason, ...cells]) => [code(reason), ...cells]);
    expect(fromPage).toEqual(fromCode);
  });

  test('every reason that any condition may have is on the page, with its sentence', () => {
    const reasons = Object.values(conditionReasons).flatMap((group) => Object.values<ConditionReason>(group));
    for (const { reason, message } of reasons)
      expect(page).toMatch(new RegExp(`^\\| \`${reason}\` \\| .*${message} \\|$`, 'm'));
    expect(reasons.length).toBeGreaterThan(4);
  });

  test('a reason is one word and its message one sentence', () => {
    for (const { reason, message } of [
      ...errors,
      ...[okReasons, trialReasons, owedReasons, upgradeReasons, unitReasons].flatMap((group) =>
        Object.values<ConditionReason>(group),
      ),
    ]) {
      expect(reason).toMatch(/^[A-Z][A-Za-z0-9]+$/);
      expect(message).toMatch(/\.$/);
      expect(message).not.toContain('. ');
    }
  });

  test('every row says a cause and a remedy', () => {
    for (const [name, , , cause, remedy] of documented) {
      expect(cause, name).toMatch(/\w{3,}.*\.$/);
      expect(remedy, name).toMatch(/\w{3,}.*\.$/);
    }
  });

  test('errors are in the half they belong to', () => {
    const half = page.indexOf('### About following the reference');
    for (const [name, { outcome }] of Object.entries(configErrors))
      expect(page.indexOf(`\n| ${name} |`) > half, name).toBe(outcome === 'not followed');
  });

  test('every reason for an exit is there, with its blame', () => {
    const calm = { stopping: false, certificateExpired: false };
    const exits = [
      explainExit({ code: 1, signal: null }, calm),
      explainExit({ code: null, signal: 'SIGSEGV' }, calm),
      explainExit({ code: null, signal: 'SIGKILL' }, calm),
      explainExit({ code: 0, signal: null }, calm),
      explainExit({ code: 1, signal: null }, { ...calm, certificateExpired: true }),
      explainExit({ code: 1, signal: null }, { ...calm, stopping: true }),
      explainExit({ code: null, signal: null, error: new Error('…') }, calm),
    ];
    const written = exits.map(({ why, blame }) => ({
      why: why.replace(/\d+$/, 'N').replace(/SIG[A-Z]+/, 'SIGNAL'),
      blame,
    }));
    const listed = page.slice(page.indexOf('## When a kubelet exits'), page.indexOf('## Events'));
    const fromPage = [...listed.matchAll(/^\| `([^`]+)`.* \| (config|none) \|$/gm)].map(([, why, blame]) => ({
      why,
      blame,
    }));
    expect(fromPage).toEqual(written);
  });

  test('every event and every healthy condition is there', () => {
    for (const event of [
      changed(undefined),
      rejected(undefined, '', ''),
      rolledBack(undefined, '', ''),
      trialPassed(undefined),
      upgradeRisk({ from: '', to: '', risk: 'changes', details: [] }),
    ])
      expect(page).toContain(`| \`${event.reason}\` | ${event.type} |`);
    const local = { assigned: undefined, active: undefined, lastKnownGood: undefined, warnings: [] };
    const source = { namespace: 'n', name: 'n', uid: '…', resourceVersion: '1', kubeletConfigKey: 'k' };
    for (const report of [
      { ...local, initConfig: false },
      { ...local, initConfig: true },
      { ...local, assigned: source, active: source, initConfig: false },
    ]) {
      const { message, reason } = configOk(report);
      expect(page).toContain(`| \`${message}\` | \`${reason}\` |`);
    }
  });
});
