/** An unchanged config under another kubelet; the tables of facts, read here on their own, against the list of the check. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { casesIn } from '../../test/config-cases.js';
import { check } from './check.js';
import { fieldRows } from './facts/field-rows.js';
import { gateRows } from './facts/gate-rows.js';
import { ruleRows } from './facts/rule-rows.js';
import { fieldAt } from './fields.js';
import { gateAt } from './gates.js';
import { emptyDocument, header } from './header.js';
import { type Host, newestMinor, oldestMinor } from './model.js';
import { meanings } from './upgrade/meanings.js';
import { type UpgradeChange, type UpgradeFinding, type UpgradeOptions, upgradeCheck } from './upgrade-check.js';

const minors = Array.from({ length: newestMinor - oldestMinor }, (_, index) => oldestMinor + 1 + index);

const document = (set: object) => JSON.stringify({ ...header, ...set });
const findings = (set: object, options: UpgradeOptions) => upgradeCheck(document(set), options).findings;
const step = (minor: number, host: Host = {}) => ({ from: minor - 1, to: minor, host });
const fieldOf = ({ path }: UpgradeFinding) => path.replace(/\[.*$/s, '');

describe('neighbouring minors', () => {
  test.each(minors.map((minor) => [`1.${minor - 1} and 1.${minor}`, minor]))(
    '%s: the check lists exactly the fields whose default, validation or existence differs in the facts',
    (_name, minor) => {
      const listed = new Set([
        ...listing({}, minor, ['default']),
        ...comingOrGoing(minor),
        ...documentsAbout(minor).flatMap(({ set, host }) => listing(set, minor, ['rejected', 'accepted'], host)),
      ]);
      const expected = new Set([
        ...fieldRows.filter((row) => isBetween(row, minor) && defaultsDiffer(row, minor)).map(([path]) => path),
        ...leafRows.filter(({ first, last }) => first === minor || last === minor - 1).map(({ path }) => path),
        ...ruleRows.filter(([since]) => since === minor).map(([, , field]) => field),
      ]);
      expect([...listed].sort()).toEqual([...expected].sort());
    },
  );

  /** Fields with findings of these kinds. An error counts where the kubelet before takes the document: it decides. */
  function listing(set: object, minor: number, changes: UpgradeChange[], host: Host = {}): string[] {
    const decides = check(document(set), { minor: minor - 1, lenient: true, host }).startup === 'ok';
    return findings(set, step(minor, host))
      .filter(({ change }) => changes.includes(change) && (change !== 'rejected' || decides))
      .map(fieldOf);
  }

  /** The examples of the rules that change here, and every case of every rule that is written for this minor. */
  function documentsAbout(minor: number): { set: object; host: Host }[] {
    const examples = ruleRows
      .filter(([since]) => since === minor)
      .map(([, , , , example, host = {}]) => ({ set: parse(`{${example}}`), host }));
    return [...examples, ...allCases.filter((one) => one.minor === minor && isOfBoth(one.set, minor))];
  }

  const allCases = ['rules/rules', 'rules/stages', 'forecast/forecast']
    .flatMap((file) => casesIn(`src/config/${file}.cases.txt`))
    .map(([, minor, set, host]) => ({ minor, set: nested(set), host }));

  /** Both kubelets know all its fields, and its gates as the same: rules of a new field or a locked gate come with that. */
  function isOfBoth(set: object, minor: number): boolean {
    const gates = Object.keys((set as { featureGates?: object }).featureGates ?? {});
    return (
      pathsOf(set).every((path) => existsAt(path, minor) && existsAt(path, minor - 1)) &&
      gates.every((name) => gateAt(name, minor) && gateAt(name, minor)?.locked === gateAt(name, minor - 1)?.locked)
    );
  }

  const existsAt = (path: string, minor: number) => {
    const field = fieldAt(path);
    return field === undefined || (field.first <= minor && minor <= field.last);
  };

  const leafRows = fieldRows
    .map(([path, goType, first, last]) => ({ path, goType, first, last }))
    .filter(({ path, goType }) => !path.includes('[]') && !/^\*?\{\}$/.test(goType));

  const isBetween = ([, , first, last]: (typeof fieldRows)[number], minor: number) => first < minor && last >= minor;

  /** Read from the rows alone. Two defaults depend on a gate; one was written in nanoseconds. */
  function defaultsDiffer([path, , , , ...defaults]: (typeof fieldRows)[number], minor: number): boolean {
    const at = (at: number) => {
      const gate = {
        'crashLoopBackOff.maxContainerRestartPeriod': 'KubeletCrashLoopBackOffMax',
        imagePullCredentialsVerificationPolicy: 'KubeletEnsureSecretPulledImages',
      }[path];
      if (gate !== undefined && !isOnByDefault(gate, at)) return undefined;
      const value = defaults.findLast(([from]) => from <= at)?.[1];
      return JSON.stringify(value === 5_000_000_000 ? '5s' : value);
    };
    return at(minor) !== at(minor - 1);
  }

  function isOnByDefault(gate: string, minor: number): boolean {
    const row = new RegExp(`\\b${gate}:(\\S+)`).exec(gateRows)![1]!;
    return row.split(',').some((range) => {
      const [, from, to = from, sign] = /^(\d+)(?:-(\d+))?\w([+-])/.exec(range)!;
      return Number(from) <= minor && minor <= Number(to) && sign === '+';
    });
  }

  const values: Record<string, unknown> = {
    bool: true,
    string: 'x',
    Duration: '7s',
    Quantity: '1Mi',
    float64: 0.5,
    '[]string': ['x'],
    '[]int32': [29],
    '[]{}': [{}],
  };

  const withValue = ({ path, goType }: (typeof leafRows)[number]) => {
    const bare = goType.replace('*', '');
    return [path, values[bare] ?? (bare.startsWith('map[') ? { x: '1' } : 7)] as const;
  };

  /** Set alone where the facts have a change; one that is new may have a rule that rejects this value. */
  function comingOrGoing(minor: number): string[] {
    const alone = leafRows.filter(({ path }) => existsAt(path, minor) !== existsAt(path, minor - 1));
    const everything = nested(Object.fromEntries(leafRows.map(withValue)));
    return [
      ...alone.flatMap((row) => {
        const found = listing(nested(Object.fromEntries([withValue(row)])), minor, ['added', 'removed', 'rejected']);
        return found.filter((field) => field === row.path);
      }),
      ...findings(everything, step(minor))
        .filter(({ change }) => change === 'added' || change === 'removed')
        .map(fieldOf),
    ];
  }
});

/** From dotted paths. */
function nested(flat: Record<string, unknown>): Record<string, unknown> {
  const whole: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(flat)) {
    const parts = path.split('.');
    const name = parts.pop()!;
    let parent = whole;
    for (const part of parts) {
      parent[part] ??= {};
      parent = parent[part] as Record<string, unknown>;
    }
    parent[name] = value;
  }
  return whole;
}

function pathsOf(set: object, parent = ''): string[] {
  return Object.entries(set).flatMap(([name, value]) => {
    const path = parent === '' ? name : `${parent}.${name}`;
    const isStruct = /^\{\}$/.test(fieldAt(path)?.goType ?? '') && typeof value === 'object' && value !== null;
    return [path, ...(isStruct ? pathsOf(value, path) : [])];
  });
}

describe('rules that begin or end', () => {
  test.each(
    ruleRows.map(
      ([since, sign, field, , example, host]) =>
        [`1.${since} ${sign} ${field}`, since, sign, field, example, host] as const,
    ),
  )(
    '%s: one kubelet takes the example, and the other rejects this field of it',
    (_name, since, sign, field, example, host) => {
      const rejected = findings(parse(`{${example}}`), step(since, host)).filter(
        ({ change }) => change === 'rejected' || change === 'accepted',
      );
      expect(rejected.map((finding) => [finding.change, fieldOf(finding), finding.since])).toContainEqual([
        sign === '+' ? 'rejected' : 'accepted',
        field,
        since,
      ]);
    },
  );
});

describe('meanings that change', () => {
  test.each(meanings.map((meaning) => [`${meaning.field} in 1.${meaning.since}`, meaning] as const))(
    '%s is listed for its example, and not for a config that sets nothing',
    (_name, { field, since, change, severity, what, remedy, example }) => {
      const about = ({ path, message }: UpgradeFinding) => path === field && message === what;
      const found = findings(parse(example), step(since)).filter(about);
      expect(found).toMatchObject([{ severity, change, since, remedy }]);
      expect(findings({}, step(since)).filter(about)).toEqual([]);
      // A deprecation stays a note; a meaning that has changed is of no interest to later upgrades.
      const later = since < newestMinor ? findings(parse(example), step(since + 1)).filter(about) : [];
      expect(later).toHaveLength(change === 'deprecated' && since < newestMinor ? 1 : 0);
    },
  );

  test('a gate that gives a field its effect is on by default from that minor on', () => {
    for (const { since, what } of meanings) {
      const gate = /since the feature gate (\w+) is on by default/.exec(what)?.[1];
      if (gate === undefined) continue;
      expect([gate, gateAt(gate, since - 1)?.default ?? false, gateAt(gate, since)?.default]).toEqual([
        gate,
        false,
        true,
      ]);
    }
  });
});

describe('an upgrade over several minors', () => {
  const upgrade = (from: number, to: number, more: Partial<UpgradeOptions> = {}) => ({ from, to, ...more });
  const brief = (list: UpgradeFinding[]) => list.map(({ severity, path, since }) => `${severity} ${path} 1.${since}`);

  test('lists every step, errors first', () => {
    const set = { eventRecordQPS: 0, featureGates: { ImageVolume: false, InTreePluginPortworxUnregister: true } };
    expect(brief(findings(set, upgrade(34, 37)))).toEqual([
      'error featureGates[ImageVolume] 1.36',
      'error featureGates[InTreePluginPortworxUnregister] 1.36',
      'warning failCgroupV1 1.35',
      'warning imagePullCredentialsVerificationPolicy 1.35',
      'warning eventRecordQPS 1.37',
      'note crashLoopBackOff.maxContainerRestartPeriod 1.35',
      'note memoryThrottlingFactor 1.37',
    ]);
  });

  test('a default that moves twice is one finding with both steps, and its remedy keeps the first value', () => {
    const gates = { featureGates: { MemoryQoS: true } };
    const [found] = findings(gates, upgrade(26, 37)).filter(({ path }) => path === 'memoryThrottlingFactor');
    expect(found).toMatchObject({
      severity: 'warning',
      since: 27,
      message: expect.stringContaining('its default changes from 0.8 to 0.9, in 1.37 to none'),
      remedy: 'write memoryThrottlingFactor: 0.8 to keep what 1.26 does',
    });
    expect(
      findings({ ...gates, memoryThrottlingFactor: 0.8 }, upgrade(26, 37)).filter(
        ({ path }) => path === 'memoryThrottlingFactor',
      ),
    ).toEqual([]);
  });

  test('a default that the config or a flag sets is not listed', () => {
    const paths = (set: object, flags: string[] = []) =>
      findings(set, upgrade(26, 27, { flags }))
        .map(({ path }) => path)
        .filter((path) => path !== 'memoryThrottlingFactor');
    expect(paths({})).toEqual(['eventRecordQPS', 'eventBurst', 'kubeAPIQPS', 'kubeAPIBurst']);
    expect(paths({ kubeAPIQPS: 5, eventBurst: 10 }, ['--kube-api-burst=10'])).toEqual(['eventRecordQPS']);
  });

  test('an error that only minors on the way have is a warning, and one that the present kubelet has too is an error', () => {
    const found = findings({ seccompDefault: true }, upgrade(21, 25)).filter(({ change }) => change === 'rejected');
    expect(brief(found)).toEqual(['warning seccompDefault 1.22']);
    expect(found[0]!.message).toMatch(
      /^only on the way: kubelet 1\.22 to 1\.24 would not start with it, 1\.25 does\. /,
    );
    expect(brief(findings({ maxPods: -1 }, upgrade(35, 36)))[0]).toBe('error maxPods 1.35');
  });

  test('what a later kubelet rejects is a note that says until when it is taken', () => {
    expect(findings({ runOnce: true }, upgrade(30, 31))).toMatchObject([
      {
        severity: 'note',
        change: 'deprecated',
        path: 'runOnce',
        until: 31,
        message: expect.stringContaining('kubelet 1.32 would not start'),
      },
    ]);
  });

  test('a flag that is gone stops the new kubelet, and has the command line for its place', () => {
    const flags = ['--pod-infra-container-image=pause', '--event-qps=0'];
    const found = findings({ eventRecordQPS: 7 }, upgrade(34, 37, { flags }));
    expect(found[0]).toMatchObject({
      severity: 'error',
      path: '--pod-infra-container-image',
      flag: '--pod-infra-container-image',
      since: 35,
      remedy: expect.stringContaining('1.34 is the last version'),
    });
    expect(found.find(({ path }) => path === 'eventRecordQPS')).toMatchObject({
      flag: '--event-qps',
      change: 'meaning',
    });
    expect(found.find(({ path }) => path === 'eventRecordQPS')).not.toHaveProperty('line');
  });

  test('the host decides what depends on it', () => {
    const onHost = (host: Host) =>
      findings({}, upgrade(34, 35, { host })).filter(({ path }) => path === 'failCgroupV1');
    expect(onHost({ cgroupVersion: 1 })).toMatchObject([
      { severity: 'error', remedy: expect.stringContaining('failCgroupV1: false') },
    ]);
    expect(onHost({ cgroupVersion: 2 })).toMatchObject([{ severity: 'note' }]);
    expect(onHost({})).toMatchObject([{ severity: 'warning' }]);
    expect(upgradeCheck(emptyDocument, upgrade(34, 35, { host: { cgroupVersion: 1 } })).startup).toBe('fails');
  });

  test('of an overlay, each finding is in the overlay, in the local file, or in neither', () => {
    const overlay = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig:\n  eventRecordQPS: 0\n';
    const local = [
      { path: '/etc/kubelet.yaml', text: `${emptyDocument}featureGates:\n  ImageVolume: false\nfailCgroupV1: false\n` },
    ];
    const found = upgradeCheck(overlay, upgrade(34, 37, { local })).findings;
    const at = (path: string) => found.filter((finding) => finding.path === path).map(({ file, line }) => [file, line]);
    expect(at('featureGates[ImageVolume]')).toEqual([['/etc/kubelet.yaml', 4]]);
    expect(at('eventRecordQPS')).toEqual([[undefined, 4]]);
    expect(at('imagePullCredentialsVerificationPolicy')).toEqual([[undefined, undefined]]);
    expect(at('failCgroupV1')).toEqual([['/etc/kubelet.yaml', 5]]);
  });

  test('a config that means the same has no findings beyond notes about its defaults', () => {
    const set = { failCgroupV1: false, imagePullCredentialsVerificationPolicy: 'NeverVerify', eventRecordQPS: 50 };
    expect(brief(findings(set, upgrade(36, 37))).filter((line) => !line.startsWith('note'))).toEqual([]);
  });

  test('a flag that went before the present version has its remedy too', () => {
    expect(findings({}, upgrade(36, 37, { flags: ['--pod-infra-container-image=pause'] }))[0]).toMatchObject({
      severity: 'error',
      since: 36,
      remedy: 'take it off the command line of the kubelet: 1.34 is the last version that knows it',
    });
  });

  describe('AllAlpha and AllBeta', () => {
    const messagesOf = (gates: object, from: number, to: number) =>
      findings({ featureGates: gates }, upgrade(from, to))
        .filter(({ severity, path }) => severity === 'warning' && path.startsWith('featureGates[All'))
        .map(({ message }) => message);

    test('a warning names the gates that they reach in the new version only', () => {
      expect(messagesOf({ AllAlpha: true }, 33, 34)).toEqual([
        expect.stringMatching(/^turns \d+ feature gates on in 1\.34 and not in 1\.33: \w+, /),
      ]);
      expect(messagesOf({ AllBeta: false }, 33, 34)).toEqual([
        expect.stringMatching(/^turns \d+ feature gates off in 1\.34 and not in 1\.33: \w+, /),
      ]);
    });

    test('it names those that they no longer reach and that are off by default', () => {
      expect([gateAt('GenericWorkload', 36), gateAt('GenericWorkload', 37)]).toMatchObject([
        { stage: 'Alpha' },
        { stage: 'Beta', default: false },
      ]);
      expect(messagesOf({ AllAlpha: true }, 36, 37)).toEqual([
        expect.stringMatching(/; leaves \d+ feature gates? off in 1\.37 and not in 1\.36: .*\bGenericWorkload\b/),
      ]);
      // On by default from then on, it is as before.
      expect(gateAt('MemoryQoS', 37)).toMatchObject({ stage: 'Beta', default: true });
      expect(messagesOf({ AllAlpha: true }, 36, 37)[0]).not.toContain('MemoryQoS');
      expect(messagesOf({ AllAlpha: true, GenericWorkload: true }, 36, 37)[0]).not.toContain('GenericWorkload');
    });
  });
});
