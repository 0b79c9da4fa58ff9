/** A checkpoint on disk, decoded to the config that a kubelet would run with: U6 of the conformance list. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import type { ExactRef } from '../../api/config-ref.js';
import { check } from '../../config/check.js';
import { setDefaults } from '../../config/defaults.js';
import { resolvePaths } from '../../config/host-paths.js';
import { getField } from '../../config/model.js';
import { silentLog } from '../../log.js';
import { systemProcesses } from '../../proc.js';
import { openDirectory } from './directory.js';

const root = temporaryDir();

const source: ExactRef = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const kind = 'KubeletConfiguration';
const yaml = (...lines: string[]) => [`apiVersion: ${apiVersion}`, `kind: ${kind}`, ...lines, ''].join('\n');
const json = (fields: object = {}) => JSON.stringify({ apiVersion, kind, ...fields });
/** One of each way the kubelet had of reading files: 1.11, the last with the feature, and a present one. */
const minors = [11, 23, 32];

/** As the agent does it: from disk, with what a kubelet of this minor makes of it. */
function load(files: Record<string, string>, minor: number) {
  const dir = join(mkdtempSync(join(root, 'node-')), 'dynamic-config');
  const { state } = openDirectory({ dir, host: systemProcesses, log: silentLog });
  const content = Object.entries(files).map(([name, text]) => [name, Buffer.from(text)] as const);
  state.checkpoints.save(source, { files: new Map(content), annotations: {}, binaryKeys: [] });
  const { configFile, config } = state.checkpoints.load(source);
  return { dir: join(configFile, '..'), ...check(config.toString(), { minor, lenient: true, file: configFile }) };
}

describe.each(minors)('a kubelet of 1.%i', (minor) => {
  test.each([
    ['U6.1', 'a missing file', {}, 'failed to read'],
    ['U6.2', 'an empty file', { kubelet: '' }, 'was empty'],
  ])('%s %s cannot be loaded', (_id, _what, files, message) => {
    expect(() => load(files as Record<string, string>, minor)).toThrow(message);
  });

  test.each([
    ['U6.3', 'no YAML', '*'],
    ['U6.4', 'no JSON', '{*'],
    ['U6.5', 'no kind', `apiVersion: ${apiVersion}\n`],
    ['U6.6', 'no version', `kind: ${kind}\n`],
    ['U6.7', 'an unknown kind', `apiVersion: ${apiVersion}\nkind: Unknown\n`],
    ['U6.8', 'an unknown version', `apiVersion: kubelet.config.k8s.io/unknown\nkind: ${kind}\n`],
  ])('%s %s cannot be decoded', (_id, _what, text) => {
    expect(load({ kubelet: text }, minor)).toMatchObject({
      verdict: 'decode-error',
      message: expect.stringContaining('failed to decode'),
    });
  });

  test.each([
    ['U6.9', 'YAML', yaml()],
    ['U6.10', 'JSON', json()],
  ])('%s kind and version alone give the defaults: %s', (_id, _what, text) => {
    const { verdict, effective } = load({ kubelet: text }, minor);
    expect(verdict).toBe('accepted');
    const defaults = setDefaults({}, minor);
    // The place of a certificate that the kubelet created itself is not a default.
    const { tlsCertFile: _cert, tlsPrivateKeyFile: _key, ...rest } = effective!;
    expect(defaults).toMatchObject({ address: '0.0.0.0', maxPods: 110 });
    expect(defaults).toMatchObject(rest);
  });

  test.each([
    ['U6.11', 'YAML', yaml('staticPodPath: manifests')],
    ['U6.12', 'JSON', json({ staticPodPath: 'manifests' })],
  ])("%s a relative path counts from the file's directory: %s", (_id, _what, text) => {
    const { effective, dir } = load({ kubelet: text }, minor);
    expect(getField(effective!, 'staticPodPath')).toBe(join(dir, 'manifests'));
  });

  test('U6.13 of a field that is there twice the last one wins', () => {
    const { verdict, effective } = load({ kubelet: yaml('maxPods: 10', 'maxPods: 20') }, minor);
    expect([verdict, getField(effective!, 'maxPods')]).toEqual(['accepted', 20]);
  });

  test('U6.14 an unknown field is ignored, and reported', () => {
    const { verdict, findings } = load({ kubelet: yaml('notAField: 1') }, minor);
    expect(verdict).toBe('accepted');
    expect(findings).toContainEqual(expect.objectContaining({ severity: 'warning', path: 'notAField' }));
  });

  test.each([
    ['U6.15', 'an empty path stays empty', '', ''],
    ['U6.16', 'an absolute one stays', '/manifests', '/manifests'],
    ['U6.17', 'a relative one is joined', 'manifests', '/etc/kubelet/manifests'],
  ])('%s %s', (_id, _what, staticPodPath, expected) => {
    const config = { ...setDefaults({}, minor), staticPodPath };
    resolvePaths(config, '/etc/kubelet/config', minor);
    expect(config.staticPodPath).toBe(expected);
  });
});
