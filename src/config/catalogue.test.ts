/** The catalogue covers every field, and answers for paths inside maps and lists. */
import { describe, expect, test } from 'vitest';
import { entryOf, fieldImpact, impactOf, mostDemanding, themes } from './catalogue.js';
import { fields } from './fields.js';

const entries = themes.flatMap(([, theme]) => Object.entries(theme));

describe('catalogue', () => {
  test('has an entry for every field path, and for nothing else', () => {
    expect(entries.map(([path]) => path).sort()).toEqual(fields.map((field) => field.path).sort());
  });

  test.each(entries)('%s says what it is, why it needs that much and what can go wrong', (_path, entry) => {
    for (const text of [entry.what, entry.why, entry.risk]) expect(text).toMatch(/^[\w/].{10,}[.]$/);
  });

  test('a change that only a boot can show to be wrong says so, and not in the direction that is safe', () => {
    const change = (before: boolean, after: boolean) => ({ path: 'protectKernelDefaults', before, after });
    const context = { minor: 37, before: {}, after: {} };
    expect(impactOf(change(false, true), context)?.atBoot).toContain('until the next boot');
    expect(impactOf(change(true, false), context)).not.toHaveProperty('atBoot');
    expect(impactOf({ path: 'maxPods', before: 1, after: 2 }, context)).not.toHaveProperty('atBoot');
    for (const [, { atBoot }] of entries) if (atBoot !== undefined) expect(atBoot).toMatch(/^[\w/].{10,}[.]$/);
  });

  test('a class that changes with the kubelet changes at the stated minor', () => {
    expect(fieldImpact('hairpinMode', 23)?.needs).toBe('reboot');
    expect(fieldImpact('hairpinMode', 24)?.needs).toBe('none');
    for (const [path, { needs, later }] of entries) {
      if (later === undefined) continue;
      expect(fieldImpact(path, later.from - 1)?.needs).toBe(needs);
      expect(fieldImpact(path, later.from)?.needs).toBe(later.needs);
    }
  });

  test.each([
    ['evictionHard[memory.available]', 'evictionHard'],
    ['clusterDNS[0]', 'clusterDNS'],
    ['reservedMemory[1].limits[memory]', 'reservedMemory[].limits'],
    ['registerWithTaints[3].key', 'registerWithTaints[].key'],
    ['logging.options.json.splitStream', 'logging.options.json.splitStream'],
  ])('a change at %s is treated as %s', (path, field) => {
    expect(fieldImpact(path, 32)?.why).toBe(entryOf(field)?.why);
    expect(entryOf(field)).toBeDefined();
  });

  test('a path that is not a field has no impact', () => {
    expect(fieldImpact('maxPod', 32)).toBeUndefined();
    expect(fieldImpact('constructor', 32)).toBeUndefined();
    expect(fieldImpact('', 32)).toBeUndefined();
  });

  test('a change of several fields needs what the most demanding of them needs', () => {
    expect(mostDemanding(['restart', 'state-file', 'drain'])).toBe('state-file');
    expect(mostDemanding(['restart', 'never', 'reboot'])).toBe('never');
    expect(mostDemanding([])).toBe('none');
  });
});
