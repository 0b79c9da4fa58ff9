/** A host with a trust file: configs that are accepted, rejected, or left for later, whatever happens to file, clock and disk. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testDocuments } from '../../../test/rig/node.js';
import { signedAnnotations, testKey } from '../../../test/rig/signing.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { allowFieldsAnnotation, signaturesAnnotation, statementAnnotation } from '../../api/signing.js';
import { realFiles } from '../../atomic-file.js';
import { decideSignature } from '../../config/signing/decide.js';
import { parseTrust } from '../../config/signing/trust.js';
import { silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { type ChooseOptions, choose } from '../choose.js';
import { handleRequest } from '../requests.js';
import { acceptedAs, digestsAt, signingRecord } from '../signing-record.js';
import { openDirectory } from '../state/directory.js';
import { payloadOf } from '../sync/config-map.js';
import { assign, checkpoint, keepAsLastKnownGood } from '../transitions.js';
import { withSignatures } from './signatures.js';
import { trustFileOnHost } from './trust-file.js';
import type { Validator } from './validate.js';

const [ann, bob] = [testKey(), testKey()];
const hour = 3600;
const start = Date.UTC(2026, 10, 18) / 1000;

const validator: Validator = {
  validate: async () => ({ kind: 'accepted', warnings: [], healthz: undefined, staticPodPath: undefined }),
};

/** A host: its disk, its trust file, its clock, and a boot or an assignment that chooses as the agent does. */
function newHost() {
  const root = temporaryDir();
  mkdirSync(join(root, 'etc'), { mode: 0o755 });
  const trustFile = join(root, 'etc/trust.yaml');
  const open = () => openDirectory({ dir: join(root, 'dir'), host: systemProcesses, log: silentLog, files }).state;
  let isFull = false;
  const files = {
    ...realFiles,
    create(path: string, data: Uint8Array, mode: number) {
      if (isFull && path.includes('signing')) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      realFiles.create(path, data, mode);
    },
  };
  let state = open();
  let version = 0;
  const host = {
    now: start,
    trustFile,
    get state() {
      return state;
    },
    set isFull(value: boolean) {
      isFull = value;
    },
    trust(text = `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["ann ${ann.line}", "bob ${bob.line}"]\n`) {
      writeFileSync(trustFile, text, { mode: 0o644 });
      utimesSync(trustFile, start, start);
    },
    reboot() {
      realFiles.remove(join(root, 'dir/meta/lock'));
      state = open();
    },
    async choose(records: ChooseOptions = {}) {
      const parts = {
        state,
        documents: testDocuments(state),
        validator: withSignatures(validator, {
          state,
          trustFile: trustFileOnHost(trustFile, realFiles, async () => ({ parseTrust, decideSignature })),
          clock: { now: () => host.now * 1000 },
          log: silentLog,
        }),
        commandLine: { args: () => [] },
        driver: { version: async () => 'v1.32.1', fingerprint: () => '' },
        hostFiles: { contentOf: () => '' },
        clock: { now: () => host.now * 1000 },
        log: silentLog,
      };
      const choice = await choose(parts, new AbortController().signal, records);
      return choice.error === undefined ? (choice.source?.resourceVersion ?? 'local') : choice.error.reason;
    },
    /** The config that would run, or the reason why this one is not started. */
    async assign(parts: Parts, at = `${++version}`) {
      const resolved = resolvedOf(parts, at);
      try {
        checkpoint(state, resolved);
        const records = { assigned: { source: resolved.source }, isArriving: true };
        const found = await host.choose(records);
        assign(state, resolved.source, undefined);
        return found;
      } catch (error) {
        return (error as { reason?: string }).reason;
      }
    },
    pass() {
      const assigned = state.assigned();
      if ('source' in assigned) keepAsLastKnownGood(state, assigned.source, silentLog);
    },
  };
  return host;
}

interface Parts {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  annotations?: Record<string, string>;
}

function resolvedOf(parts: Parts, resourceVersion: string) {
  const metadata = { name: 'config', namespace: 'ns', annotations: parts.annotations ?? {} };
  const source = { namespace: 'ns', name: 'config', uid: 'uid', resourceVersion, kubeletConfigKey: 'kubelet' };
  return { source, payload: payloadOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...parts }) };
}

type About = Partial<Parameters<typeof signedAnnotations>[1]>;

function signed(
  maxPods: number,
  about: About = {},
  annotations: Record<string, string> = {},
): Required<Pick<Parts, 'data' | 'annotations'>> {
  const data = { kubelet: `maxPods: ${maxPods}\n` };
  return { data, annotations: signedAnnotations({ data, annotations }, { keys: [ann], serial: start, ...about }) };
}

const unsigned = (maxPods: number): Parts => ({ data: { kubelet: `maxPods: ${maxPods}\n` } });

describe('a host without a trust file', () => {
  test('starts what is assigned, and records nothing about signatures', async () => {
    const host = newHost();
    expect(await host.assign(unsigned(1))).toBe('1');
    expect(host.state.read(signingRecord)).toBeUndefined();
  });
});

function linked(path: string): void {
  rmSync(path);
  symlinkSync('/dev/null', path);
}

function madeDirectory(path: string): void {
  rmSync(path);
  mkdirSync(path);
}

describe('a host that gets a trust file', () => {
  test('keeps booting what it had, and accepts nothing else without a signature', async () => {
    const host = newHost();
    await host.assign(unsigned(1));
    host.pass();
    await host.assign(unsigned(2));
    host.trust();
    expect(await host.choose()).toBe('2');
    expect(await host.assign(unsigned(3))).toBe('SignatureMissing');
    expect(await host.choose()).toBe('SignatureMissing');
    expect(await host.assign(unsigned(1))).toBe('SignatureMissing');
    expect(await host.choose()).toBe('SignatureMissing');
    expect(await host.assign(signed(4))).toBe('5');
    host.reboot();
    expect(await host.choose()).toBe('5');
  });

  test.each([
    ['a link to elsewhere', linked],
    ['writable by others', (path: string) => chmodSync(path, 0o666)],
    ['in a directory that is writable by others', (path: string) => chmodSync(join(path, '..'), 0o777)],
    ['a directory', madeDirectory],
    ['not what it should be', (path: string) => writeFileSync(path, 'signers: []')],
    ['gone', (path: string) => rmSync(path)],
  ])('that is later %s boots what it had, and accepts nothing new', async (_what, spoil) => {
    const host = newHost();
    host.trust();
    expect(await host.assign(signed(1))).toBe('1');
    host.pass();
    expect(await host.assign(signed(2))).toBe('2');
    spoil(host.trustFile);
    expect(await host.choose()).toBe('2');
    expect(await host.assign(signed(3))).toBe('TrustFileUnusable');
    expect(await host.assign(unsigned(3))).toBe('TrustFileUnusable');
    expect(await host.assign(signed(1))).toBe('TrustFileUnusable');
    host.reboot();
    expect(await host.choose()).toBe('2');
  });

  test('that cannot be used from the beginning accepts nothing', async () => {
    const host = newHost();
    writeFileSync(host.trustFile, '');
    expect(await host.assign(unsigned(1))).toBe('TrustFileUnusable');
    rmSync(host.trustFile);
    expect(await host.assign(unsigned(1))).toBe('TrustFileUnusable');
  });
});

test('a trust file whose code cannot be loaded, or whose directory cannot be read, does not count as absent', async () => {
  const host = newHost();
  host.trust();
  const unloadable = trustFileOnHost(host.trustFile, realFiles, () => Promise.reject(new Error('no such bundle')));
  expect(unloadable.read()).toBeUndefined();
  await unloadable.load();
  expect(() => unloadable.read()).toThrow('no such bundle');
  const again = unloadable.load();
  expect(() => unloadable.read()).toThrow('no such bundle');
  await again;
  const stat = () => {
    throw new Error('permission denied');
  };
  const hidden = trustFileOnHost(host.trustFile, { ...realFiles, stat }, async () => ({ parseTrust, decideSignature }));
  await hidden.load();
  expect(() => hidden.read()).toThrow('permission denied');
});

test('what is not signed cannot take the place of what was accepted under the same version', async () => {
  const parts = signed(1, {}, { [allowFieldsAnnotation]: 'enableServer' });
  const host = newHost();
  host.trust();
  expect(await host.assign(parts, '7')).toBe('7');
  host.pass();
  expect(await host.assign(unsigned(9), '7')).toBe('CheckpointNotSaved');
  const more = { ...parts.annotations, 'relet.dev/skip-forecast': 'true' };
  expect(await host.assign({ ...parts, annotations: more }, '7')).toBe('CheckpointNotSaved');
  expect(await host.choose()).toBe('7');
  expect(await host.assign(parts, '7')).toBe('7');
});

describe('time', () => {
  const until = signed(1, { notBefore: start - hour, notAfter: start + hour });

  test('ends the acceptance of a statement, never a boot, a restart or a return to the same bytes', async () => {
    const host = newHost();
    host.trust();
    expect(await host.assign(until)).toBe('1');
    host.now = start + 100 * 24 * hour;
    host.reboot();
    expect(await host.choose()).toBe('1');
    expect(await host.assign(signed(2))).toBe('2');
    expect(await host.assign(until)).toBe('3');
    expect(await newHostAt(host.now).assign(until)).toBe('Expired');
  });

  test('that jumps back by years is noticed, and keeps what runs', async () => {
    const host = newHost();
    host.trust();
    expect(await host.assign(until)).toBe('1');
    host.now = 0;
    expect(await host.assign(signed(2, { notAfter: start + hour }))).toBe('ClockNotTrusted');
    expect(await host.choose()).toBe('1');
    expect(await host.assign(signed(2))).toBe('3');
    host.now = start - 2 * hour;
    expect(await host.assign(signed(3, { notBefore: start - hour }))).toBe('NotYetValid');
  });

  test('that jumps ahead does not raise what the node accepts later', async () => {
    const host = newHost();
    host.trust();
    host.now = start + 100 * 24 * hour;
    expect(await host.assign(until)).toBe('Expired');
    host.now = start;
    expect(await host.choose()).toBe('1');
  });
});

function newHostAt(now: number) {
  const host = newHost();
  host.trust();
  host.now = now;
  return host;
}

describe('an older config', () => {
  const [first, second, third] = [1, 2, 3].map((one) => signed(one, { serial: start + one, floor: start + one - 1 }));

  test('can be returned to once, and not beyond', async () => {
    const host = newHost();
    host.trust();
    for (const one of [first, second, third]) {
      await host.assign(one!);
      host.pass();
    }
    expect(host.state.read(signingRecord)?.floor).toBe(start + 2);
    expect(await host.assign(first!)).toBe('SerialTooLow');
    expect(await host.assign(signed(9, { serial: start + 2 }))).toBe('SerialTooLow');
    expect(await host.assign(second!)).toBe('6');
    host.reboot();
    expect(await host.assign(first!)).toBe('SerialTooLow');
    expect(await host.choose()).toBe('SerialTooLow');
  });

  test('is not a floor before it has passed its trial', async () => {
    const host = newHost();
    host.trust();
    expect(await host.assign(signed(9, { serial: start + 9, floor: start + 9 }))).toBe('1');
    expect(await host.assign(first!)).toBe('2');
  });

  test('stays what the node boots while ten others are tried', async () => {
    const host = newHost();
    host.trust();
    await host.assign(first!);
    host.pass();
    for (let one = 0; one < 20; one++) await host.assign(signed(100 + one, { serial: start + 100 + one }));
    rmSync(host.trustFile);
    expect(host.state.read(signingRecord)?.accepted).toHaveLength(10);
    assign(host.state, resolvedOf({}, '1').source, undefined);
    expect(await host.choose()).toBe('1');
  });
});

describe('a full disk', () => {
  test('lets nothing be accepted that a reboot would not know', async () => {
    const host = newHost();
    host.trust();
    expect(await host.assign(signed(1))).toBe('1');
    host.isFull = true;
    expect(await host.assign(signed(2))).toBe('AssignmentNotSaved');
    expect(await host.choose()).toBe('1');
    host.isFull = false;
    expect(await host.assign(signed(2))).toBe('3');
  });

  test('at the record of the floor keeps what is last known good, and the floor is raised later', async () => {
    const host = newHost();
    host.trust();
    await host.assign(signed(1, { serial: start + 1, floor: start + 1 }));
    host.isFull = true;
    host.pass();
    host.reboot();
    expect(await host.choose()).toBe('1');
    host.isFull = false;
    host.pass();
    expect(host.state.read(signingRecord)?.floor).toBe(start + 1);
  });
});

describe('the trust file', () => {
  test('decides again where a config is assigned again', async () => {
    const host = newHost();
    host.trust();
    const stolen = signed(1, { keys: [bob] });
    expect(await host.assign(stolen)).toBe('1');
    expect(await host.assign(signed(2))).toBe('2');
    host.trust(
      `apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["ann ${ann.line}", "bob ${bob.line}"]\nrevoked: ["${bob.line}"]\n`,
    );
    expect(await host.assign(stolen)).toBe('SignerNotAllowed');
    host.reboot();
    expect(await host.choose()).toBe('SignerNotAllowed');
    // Under the very identity that was accepted when it was assigned first.
    expect(await host.assign(stolen, '1')).toBe('SignerNotAllowed');
    expect(await host.choose()).toBe('SignerNotAllowed');
  });

  test('does not keep a node from its last known good, by any signer', async () => {
    const host = newHost();
    host.trust();
    const stolen = signed(1, { keys: [bob] });
    expect(await host.assign(stolen)).toBe('1');
    host.pass();
    host.trust(`apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["ann ${ann.line}"]\n`);
    expect(await host.choose()).toBe('1');
    expect(await host.assign(stolen, '1')).toBe('SignerNotAllowed');
    host.reboot();
    expect(await host.choose()).toBe('1');
  });

  test('lets a rejected config pass once it allows the signer', async () => {
    const host = newHost();
    host.trust(`apiVersion: relet.dev/v1alpha1\nkind: Trust\nsigners: ["ann ${ann.line}"]\n`);
    expect(await host.assign(signed(1, { keys: [bob] }))).toBe('SignerNotAllowed');
    host.trust();
    expect(await host.choose()).toBe('1');
    expect(acceptedAs(host.state, digestsAt(host.state, resolvedOf({}, '1').source))).toMatchObject({
      signers: ['bob'],
      serial: start,
    });
  });
});

describe('a person on the host who accepts unsigned configs', () => {
  const ask = (host: ReturnType<typeof newHost>, seconds: number) =>
    handleRequest(host.state, { verb: 'accept-unsigned', seconds, why: 'outage' }, new Date(host.now * 1000));

  test('lets them pass for that time, also without a usable trust file', async () => {
    const host = newHost();
    host.trust();
    ask(host, hour);
    expect(await host.assign(unsigned(1))).toBe('1');
    rmSync(host.trustFile);
    expect(await host.assign(unsigned(2))).toBe('2');
    host.now += hour;
    expect(await host.assign(unsigned(3))).toBe('TrustFileUnusable');
    host.reboot();
    expect(await host.choose()).toBe('2');
  });

  test('does not lower the floor, and is not prolonged by a clock that is set back', async () => {
    const host = newHost();
    host.trust();
    await host.assign(signed(1, { floor: start }));
    host.pass();
    ask(host, hour);
    await host.assign(unsigned(2));
    host.pass();
    expect(host.state.read(signingRecord)?.floor).toBe(start);
    host.now -= 1;
    expect(await host.assign(unsigned(3))).toBe('SignatureMissing');
  });
});

test('annotations of a ConfigMap that no statement covers are not kept', () => {
  const { payload } = resolvedOf({ annotations: { 'relet.dev/by': 'ann', other: 'x', ...signed(1).annotations } }, '1');
  expect(Object.keys(payload.annotations).sort()).toEqual([signaturesAnnotation, statementAnnotation]);
});
