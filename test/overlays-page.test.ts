/** Each row of the table in docs/overlays.md: the same fields as a drop-in of the kubelet, and as an overlay. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setDefaults } from '../src/config/defaults.js';
import { mergeLocal, mergeOverlay } from '../src/config/merge.js';
import { getField } from '../src/config/model.js';
import { configText, localFile, overlayText } from './overlay-files.js';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'overlays.md'), 'utf8');
const rows = page
  .slice(page.indexOf('| what | kubelets |'))
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.split('|')[1]!.trim());

interface Example {
  minor: number;
  local: string;
  /** Fields of the drop-in, or of the overlay. */
  fields: string;
  path: string;
  asDropIn: unknown;
  asOverlay: unknown;
}

const rejected = Symbol('rejected');

const examples: Record<string, Example[]> = {
  'defaults of the drop-in itself': [
    { minor: 28, local: 'maxPods: 60', fields: 'port: 1', path: 'maxPods', asDropIn: 110, asOverlay: 60 },
  ],
  'a zero value, `false`, `0` or `[]`': [
    { minor: 28, local: 'podsPerCore: 5', fields: 'podsPerCore: 0', path: 'podsPerCore', asDropIn: 5, asOverlay: 0 },
    {
      minor: 28,
      local: 'clusterDNS: [a]',
      fields: 'clusterDNS: []',
      path: 'clusterDNS',
      asDropIn: ['a'],
      asOverlay: [],
    },
  ],
  'a zero value that means the default': [
    { minor: 30, local: 'maxPods: 60', fields: 'maxPods: 0', path: 'maxPods', asDropIn: 0, asOverlay: 110 },
  ],
  '`resolvConf`': [
    {
      minor: 30,
      local: 'resolvConf: /a',
      fields: 'resolvConf: /b',
      path: 'resolvConf',
      asDropIn: '/a',
      asOverlay: '/b',
    },
  ],
  'items of a list': [
    {
      minor: 30,
      local: 'registerWithTaints: [{key: a, value: b, effect: NoSchedule}]',
      fields: 'registerWithTaints: [{key: c, effect: NoExecute}]',
      path: 'registerWithTaints',
      asDropIn: [{ key: 'c', value: 'b', effect: 'NoExecute' }],
      asOverlay: [{ key: 'c', effect: 'NoExecute' }],
    },
  ],
  'a default that depends on another field': [30, 36].flatMap((minor) => [
    {
      minor,
      local: '',
      fields: 'nodeStatusUpdateFrequency: 20s',
      path: 'nodeStatusReportFrequency',
      asDropIn: '5m0s',
      asOverlay: '20s',
    },
    {
      minor,
      local: '',
      fields: 'maxParallelImagePulls: 3',
      path: 'serializeImagePulls',
      asDropIn: true,
      asOverlay: false,
    },
  ]),
  'an empty map': [28, 30, 36].map((minor) => ({
    minor,
    local: 'kubeReserved: {cpu: 1m}',
    fields: 'kubeReserved: {}',
    path: 'kubeReserved',
    asDropIn: { cpu: '1m' },
    asOverlay: {},
  })),
  'an empty list in the local file': [
    {
      minor: 36,
      local: 'enforceNodeAllocatable: []',
      fields: 'maxPods: 5',
      path: 'enforceNodeAllocatable',
      asDropIn: ['pods'],
      asOverlay: [],
    },
  ],
  '`mergeDefaultEvictionSettings`': [
    {
      minor: 36,
      local: 'evictionHard: {memory.available: 1Gi}',
      fields: 'mergeDefaultEvictionSettings: true',
      path: 'evictionHard',
      asDropIn: { 'memory.available': '1Gi' },
      asOverlay: expect.objectContaining({ 'memory.available': '1Gi', 'nodefs.available': '10%' }),
    },
  ],
  '`null`': [
    { minor: 30, local: 'maxPods: 60', fields: 'maxPods: null', path: 'maxPods', asDropIn: 60, asOverlay: rejected },
    { minor: 36, local: 'maxPods: 60', fields: 'maxPods: null', path: 'maxPods', asDropIn: 110, asOverlay: rejected },
  ],
  'a relative path': [
    { minor: 28, local: '', fields: 'staticPodPath: m', path: 'staticPodPath', asDropIn: '/d/m', asOverlay: rejected },
    { minor: 36, local: '', fields: 'staticPodPath: m', path: 'staticPodPath', asDropIn: '/m', asOverlay: rejected },
  ],
  'an unknown field': [28, 30, 36].map((minor) => ({
    minor,
    local: 'maxPods: 110',
    fields: 'maxPodz: 5',
    path: 'maxPods',
    asDropIn: 110,
    asOverlay: rejected,
  })),
  'a field in another spelling, `MaxPods`': [
    { minor: 30, local: 'maxPods: 60', fields: 'MaxPods: 5', path: 'maxPods', asDropIn: 5, asOverlay: rejected },
    { minor: 36, local: 'maxPods: 60', fields: 'MaxPods: 5', path: 'maxPods', asDropIn: 60, asOverlay: rejected },
    { minor: 36, local: 'maxPods: 60', fields: 'maxpods: 5', path: 'maxPods', asDropIn: 5, asOverlay: rejected },
  ],
  'another apiVersion or kind': [
    { minor: 30, local: '', fields: 'maxPods: 5\nkind: Other', path: 'maxPods', asDropIn: 5, asOverlay: rejected },
  ],
};

const local = (text: string) => localFile(`${text}\n`);

/** Returns the value that the kubelet would have: also one that no single file can express, which relet reports. */
function asDropIn({ minor, local: base, fields, path }: Example): unknown {
  const kind = /^kind: (.*)$/m.exec(fields)?.[1];
  const text = configText(fields.replace(/^kind: .*$/m, '')).replace(/^kind: .*$/m, (line) =>
    kind ? `kind: ${kind}` : line,
  );
  const { config, findings } = mergeLocal({ minor, local: [local(base), { path: '/d/10.conf', text }] });
  const lost = findings.flatMap((finding) =>
    finding.path === path ? (/takes (.*) from a drop-in/.exec(finding.message) ?? []) : [],
  );
  return lost.length > 0 ? JSON.parse(lost[1]!) : getField(setDefaults(config, minor), path);
}

function asOverlay({ minor, local: base, fields, path }: Example): unknown {
  const overlay = overlayText(`config:\n${fields.replace(/^/gm, '  ')}\n`);
  try {
    return getField(setDefaults(mergeOverlay({ minor, local: [local(base)], overlay }).document, minor), path);
  } catch {
    return rejected;
  }
}

describe.each(Object.entries(examples))('%s', (_name, all) => {
  test.each(all)('$fields over "$local" in 1.$minor', (example) => {
    expect(asDropIn(example)).toEqual(example.asDropIn);
    expect(asOverlay(example)).toEqual(example.asOverlay);
  });
});

test('the page has a row for each example, and an example for each row', () => {
  expect(Object.keys(examples)).toEqual(rows);
});
