/** Upstream's sentences, letter by letter: DKC alpha (1.8, 1.9) in the reason of ConfigOK, DKC beta in Node.status.config.error. */
import { describe, expect, test } from 'vitest';
import { ConfigError, type ConfigErrorReason } from './config-error.js';
import { alphaReason, betaError } from './upstream-words.js';

const about = { wanted: 'a', found: 'b', uid: 'u', name: 'n', namespace: 'ns' };
const errorOf = (reason: ConfigErrorReason) => new ConfigError(reason, new Error('cause'), about);

describe('the reason of ConfigOK is in the words of DKC alpha', () => {
  test.each<[ConfigErrorReason, string]>([
    ['LoadFailed', 'failed to load current (UID: "u")'],
    ['ParseFailed', 'failed to parse current (UID: "u")'],
    ['ValidationFailed', 'failed to validate current (UID: "u")'],
    ['CrashLoop', 'current failed trial period due to crash loop (UID: "u")'],
  ])('where the config cannot be used: %s', (reason, words) => {
    expect(alphaReason(errorOf(reason), '(UID: "u")')).toBe(words);
  });

  test.each<[ConfigErrorReason, string]>([
    ['ReferenceUnreadable', 'failed to read Node from informer object cache'],
    ['ResetNotSaved', 'failed to reset to local (default or init) config'],
    ['ReferenceEmpty', 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil'],
    ['ReferenceIncomplete', 'invalid ObjectReference, all of UID, Name, and Namespace must be specified'],
    ['UIDMismatch', 'invalid ObjectReference, UID "a" does not match UID of downloaded ConfigMap "b"'],
    ['CheckpointUnreadable', 'failed to determine whether object with UID "u" was already checkpointed'],
    ['DownloadFailed', 'failed to download ConfigMap with name "n" from namespace "ns"'],
    ['CheckpointNotSaved', 'failed to save config checkpoint for object with UID "u"'],
    ['DefaultNotSaved', 'failed to set current config checkpoint to default'],
    ['AssignmentNotSaved', 'failed to set current config checkpoint to object with UID "u"'],
    ['InvalidObject', 'invalid downloaded object'],
  ])('where the reference cannot be followed: %s', (reason, words) => {
    expect(alphaReason(errorOf(reason), '(UID: "u")')).toBe(`failed to sync, reason: ${words}`);
  });
});

describe('the error of Node.status.config is in the words of DKC beta', () => {
  test.each<[ConfigErrorReason, string]>([
    ['LoadFailed', 'failed to load config, see Kubelet log for details'],
    ['ParseFailed', 'failed to load config, see Kubelet log for details'],
    ['ValidationFailed', 'failed to validate config, see Kubelet log for details'],
    ['InternalError', 'internal failure, see Kubelet log for details'],
    ['DownloadFailed', 'failed to sync: failed to download config, see Kubelet log for details'],
    ['InvalidObject', 'failed to sync: internal failure, see Kubelet log for details'],
    [
      'ReferenceEmpty',
      'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    ],
  ])('%s', (reason, words) => {
    expect(betaError(errorOf(reason))).toBe(words);
  });
});
