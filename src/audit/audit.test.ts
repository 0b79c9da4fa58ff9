/** Findings by pool, waivers, remediation, and the formats for other programs. */
import { describe, expect, test } from 'vitest';
import { header } from '../config/header.js';
import type { EffectiveFleet } from '../fleet/effective-configs.js';
import { documentFromConfigz, documentFromFile } from '../fleet/effective-document.js';
import { asYaml } from '../go/yaml/write.js';
import { type AuditOptions, audit, isCheckName, isFailing } from './audit.js';
import { remediate, remediationSet } from './remediate.js';
import { junit, sarif } from './report-files.js';
import { readWaivers } from './waivers.js';

const nowMs = Date.UTC(2026, 10, 18, 12);
const hardened = {
  authentication: { x509: { clientCAFile: '/pki/ca.crt' } },
  protectKernelDefaults: true,
  rotateCertificates: true,
  seccompDefault: true,
  podPidsLimit: 4096,
  serverTLSBootstrap: true,
  tlsMinVersion: 'VersionTLS13',
};

interface Some {
  config?: object;
  labels?: Record<string, string>;
  flags?: { name: string; value: string }[];
}

function fleetOf(nodes: Record<string, Some>, minor = 36): EffectiveFleet {
  const fleet: EffectiveFleet = { nodes: [], unread: [], documents: new Map() };
  for (const [name, { config = hardened, labels = {}, flags = [] }] of Object.entries(nodes)) {
    const text = asYaml({ ...header, ...config });
    const document = documentFromFile({ path: '/kubelet.yaml', text }, { minor, flags });
    fleet.documents.set(document.id, document);
    fleet.nodes.push({ name, labels, kubeletVersion: `v1.${minor}.1`, document: document.id, own: {} });
  }
  return fleet;
}

const web = { pool: 'web' };
const open = { ...hardened, readOnlyPort: 10255 };
const run = (fleet: EffectiveFleet, options: Partial<AuditOptions> = {}) => audit(fleet, { nowMs, ...options });
const failing = (fleet: EffectiveFleet, options: Partial<AuditOptions> = {}) =>
  run(fleet, options).findings.filter(({ result }) => result === 'fail');

describe('findings', () => {
  test('are none for a hardened config, and one for nodes of a pool with the same failure', () => {
    expect(failing(fleetOf({ a: {}, b: {} }))).toEqual([]);
    const found = failing(fleetOf({ b: { config: open, labels: web }, a: { config: open, labels: web }, c: {} }));
    expect(found).toMatchObject([
      {
        check: 'read-only-port',
        ids: ['CIS-4.2.4', 'V-242387', 'NSA-network'],
        severity: 'high',
        pool: 'web 1.36',
        nodes: ['a', 'b'],
        found: 'readOnlyPort: 10255',
        origin: 'file /kubelet.yaml',
        fix: { needs: 'restart' },
      },
    ]);
  });

  test.each([
    [['cis'], ['CIS-4.2.4']],
    [
      ['stig', 'nsa'],
      ['V-242387', 'NSA-network'],
    ],
    [['V-242387'], ['CIS-4.2.4', 'V-242387', 'NSA-network']],
    [['read-only-port'], ['CIS-4.2.4', 'V-242387', 'NSA-network']],
    [['anonymous-auth'], undefined],
  ])('--only %j has ids %j', (only, ids) => {
    expect(failing(fleetOf({ a: { config: open } }), { only })[0]?.ids).toEqual(ids);
  });

  test.each([
    ['low', true],
    ['medium', true],
    ['high', true],
    ['none', false],
  ] as const)('of high severity fail an audit at --fail-on %s: %s', (level, fails) => {
    expect(isFailing(run(fleetOf({ a: { config: open } })), level)).toBe(fails);
  });

  test('that are not known fail an audit only where that is asked for, and are never counted as passing', () => {
    const fleet = fleetOf({ a: {} });
    const { document } = documentFromConfigz('{"kubeletconfig":{"rotateCertificates":true}}', 36);
    const only = ['hostname-override'];
    const report = run({ ...fleet, documents: new Map([[fleet.nodes[0]!.document, document]]) }, { only });
    expect(report.counts).toMatchObject({ pass: 0, fail: 0, 'cannot-tell': 1 });
    expect([isFailing(report, 'low'), isFailing(report, 'cannot-tell')]).toEqual([false, true]);
  });
});

describe('waivers', () => {
  const read = (waivers: unknown) => readWaivers({ waivers }, 'w.yaml', isCheckName);
  const waiver = { check: 'CIS-4.2.4', nodes: 'pool=web', reason: 'old monitoring', until: '2026-11-18' };
  const fleet = fleetOf({ a: { config: open, labels: web }, b: { config: open } });

  test('hold for the nodes that they select, until the end of their day', () => {
    const report = run(fleet, { waivers: read([waiver]) });
    expect(report.counts).toMatchObject({ waived: 1, fail: 1 });
    expect(isFailing(run(fleetOf({ a: { config: open, labels: web } }), { waivers: read([waiver]) }), 'low')).toBe(
      false,
    );
  });

  test('that have expired waive nothing, and fail the audit even where nothing else does', () => {
    const waivers = read([{ ...waiver, until: '2026-11-17' }]);
    expect(run(fleet, { waivers }).counts).toMatchObject({ waived: 0, fail: 2 });
    expect(isFailing(run(fleetOf({ a: {} }), { waivers }), 'high')).toBe(true);
  });

  test.each([
    [{ ...waiver, until: undefined }, "'until' must be a date"],
    [{ ...waiver, until: '2026-13-45' }, "'until' must be a date"],
    [{ ...waiver, reason: ' ' }, 'a reason is missing'],
    [{ ...waiver, check: 'CIS-9.9.9' }, "there is no check 'CIS-9.9.9'"],
    [{ ...waiver, nodes: 'a in' }, "nodes 'a in'"],
    [{ ...waiver, node: 'a' }, "there is no field 'node'"],
    ['x', 'it is not an object'],
  ])('%j is an error', (one, message) => {
    expect(() => read([one])).toThrow(message);
  });
});

describe('remediation', () => {
  test('is one set a pool with all fixes, chosen by a label that exactly its nodes have', () => {
    const config = { ...open, rotateCertificates: false };
    const fleet = fleetOf({ a: { config, labels: web }, b: { config: open, labels: web }, c: {} });
    const [one, ...others] = remediate(fleet, run(fleet));
    expect(others).toEqual([]);
    expect(one).toMatchObject({ fixes: ['read-only-port', 'rotate-certificates'], left: [], labels: web });
    expect(remediationSet(one!)).toMatchObject({
      metadata: { name: 'audit-web-1-36' },
      spec: { selector: { matchLabels: web }, config: { overlay: { readOnlyPort: 0, rotateCertificates: true } } },
    });
  });

  test('leaves out, and names, what a person decides and what a flag pins', () => {
    const config = {
      ...hardened,
      podPidsLimit: -1,
      authorization: { mode: 'AlwaysAllow' },
      tlsMinVersion: 'VersionTLS12',
    };
    const flags = [{ name: 'read-only-port', value: '10255' }];
    const fleet = fleetOf({ a: { config, flags, labels: web } });
    const [one] = remediate(fleet, run(fleet));
    expect(Object.fromEntries(one!.left.map(({ check, why }) => [check, why]))).toMatchObject({
      'read-only-port': 'flag --read-only-port of the kubelet pins it; change the command line',
      'pod-pids-limit': expect.stringContaining('choose podPidsLimit'),
    });
    expect(one!.fixes).toEqual(['authorization', 'strong-ciphers']);
  });

  test('leaves out, and names, what would keep the kubelet from starting', () => {
    const fleet = fleetOf({ a: { config: { ...hardened, seccompDefault: false }, labels: web } }, 24);
    const [one] = remediate(fleet, run(fleet, { only: ['nsa'] }));
    expect(one).toMatchObject({
      fixes: [],
      left: [{ check: 'seccomp-default', why: expect.stringContaining('SeccompDefault') }],
    });
  });

  test('of values that /configz shows as set is left out: a flag may hold them', () => {
    const { document } = documentFromConfigz('{"kubeletconfig":{"readOnlyPort":10255}}', 36);
    const fleet = fleetOf({ a: {} });
    fleet.documents = new Map([[document.id, document]]);
    fleet.nodes[0]!.document = document.id;
    const report = run(fleet, { only: ['read-only-port'] });
    expect(remediate(fleet, report)[0]!.left[0]!.why).toContain('does not show whether by the flag --read-only-port');
  });

  test('has no labels where no label selects exactly the nodes of the pool', () => {
    const fleet = fleetOf({ a: { config: open }, b: {} });
    expect(remediate(fleet, run(fleet))[0]!.labels).toBeUndefined();
  });
});

describe('formats', () => {
  const report = run(fleetOf({ 'a"<b>': { config: open, labels: web } }));

  test('SARIF has a rule for each check, and results that fail with their level', () => {
    const { runs } = sarif(report, { version: '1', files: [] }) as { runs: { tool: object; results: object[] }[] };
    expect(runs[0]!.results[0]).toMatchObject({
      ruleId: 'read-only-port',
      kind: 'fail',
      level: 'error',
      locations: [{ logicalLocations: [{ fullyQualifiedName: 'node/a"<b>' }] }],
    });
  });

  test('JUnit counts failures and what is skipped, and escapes what nodes say', () => {
    const text = junit(report);
    expect(text).toMatch(/<testsuite name="web 1\.36" tests="\d+" failures="1" skipped="1">/);
    expect(text).toContain('a&quot;&lt;b&gt;');
    expect(text).not.toContain('<b>');
  });
});
