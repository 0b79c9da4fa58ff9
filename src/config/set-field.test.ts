/** Fields as a person types them on the command line. */
import { describe, expect, test } from 'vitest';
import { FieldWordError, looksLikeSetting, parseSetting, withSetting } from './set-field.js';

describe('a setting', () => {
  test.each<[string, string[], unknown]>([
    ['maxPods=150', ['maxPods'], 150],
    ['evictionHard.memory.available=200Mi', ['evictionHard', 'memory.available'], '200Mi'],
    ['evictionHard[nodefs.inodesFree]=5%', ['evictionHard', 'nodefs.inodesFree'], '5%'],
    ['kubeReserved.ephemeral-storage=1Gi', ['kubeReserved', 'ephemeral-storage'], '1Gi'],
    ['featureGates.MemoryQoS=true', ['featureGates', 'MemoryQoS'], true],
    ['serializeImagePulls=false', ['serializeImagePulls'], false],
    ['logging.format=json', ['logging', 'format'], 'json'],
    ['logging.flushFrequency=5s', ['logging', 'flushFrequency'], '5s'],
    ['syncFrequency=1m30s', ['syncFrequency'], '1m30s'],
    ['memoryThrottlingFactor=0.8', ['memoryThrottlingFactor'], 0.8],
    ['podPidsLimit=9007199254740993', ['podPidsLimit'], 9007199254740993n],
    ['clusterDNS=10.0.0.10,10.0.0.11', ['clusterDNS'], ['10.0.0.10', '10.0.0.11']],
    ['clusterDNS=["10.0.0.10"]', ['clusterDNS'], ['10.0.0.10']],
    ['clusterDNS=', ['clusterDNS'], []],
    ['kubeReserved=cpu=100m,memory=1Gi', ['kubeReserved'], { cpu: '100m', memory: '1Gi' }],
    ['kubeReserved={}', ['kubeReserved'], {}],
    [
      'registerWithTaints=[{"key":"a","effect":"NoSchedule"}]',
      ['registerWithTaints'],
      [{ key: 'a', effect: 'NoSchedule' }],
    ],
    ['staticPodURLHeader={"a":["b"]}', ['staticPodURLHeader'], { a: ['b'] }],
    ['clusterDomain=a=b', ['clusterDomain'], 'a=b'],
    ['maxPods-', ['maxPods'], undefined],
    ['evictionHard.memory.available-', ['evictionHard', 'memory.available'], undefined],
  ])('%s', (word, path, value) => {
    expect(parseSetting(word, 32)).toEqual({ path, value });
  });

  test.each([
    ['maxPds=150', "kubelet 1.32 has no field 'maxPds'; did you mean 'maxPods'?"],
    ['swapBehavior=LimitedSwap', "did you mean 'memorySwap.swapBehavior'?"],
    ['x509.clientCAFile=/a', "did you mean 'authentication.x509.clientCAFile'?"],
    ['enabled=true', "did you mean 'authentication.webhook.enabled' or 'authentication.anonymous.enabled'?"],
    ['logging.formt=json', "did you mean 'logging.format'?"],
    ['maxPods.x=1', 'maxPods has no fields of its own'],
    ['maxPods=many', "maxPods: 'many' is not a whole number"],
    ['serializeImagePulls=yes', 'neither true nor false'],
    ['logging=json', 'set one of its fields (format, '],
    ['registerWithTaints=a', 'write it as a JSON list'],
    ['kubeReserved=cpu', "'cpu' is not KEY=VALUE"],
    ['clusterDNS=[1', 'is not a JSON list'],
    ['maxPods', 'write FIELD=VALUE, or FIELD- to unset'],
  ])('%s is refused with words that help', (word, words) => {
    expect(() => parseSetting(word, 32)).toThrow(FieldWordError);
    expect(() => parseSetting(word, 32)).toThrow(words);
  });

  const remedyFor = (field: string) =>
    `null is not a value; use '--unset ${field}' for the kubelet's default, or '${field}-' for the local config`;

  test.each([
    ['maxPods=null', `maxPods: ${remedyFor('maxPods')}`],
    ['clusterDomain=null', `clusterDomain: ${remedyFor('clusterDomain')}`],
    ['clusterDNS=null', `clusterDNS: ${remedyFor('clusterDNS')}`],
    ['evictionHard=null', `evictionHard: ${remedyFor('evictionHard')}`],
    ['authentication=null', `authentication: ${remedyFor('authentication')}`],
    [
      'evictionHard={"memory.available":null}',
      `evictionHard[memory.available]: ${remedyFor('evictionHard.memory.available')}`,
    ],
    [
      'evictionHard=memory.available=null',
      `evictionHard[memory.available]: ${remedyFor('evictionHard.memory.available')}`,
    ],
    ['authentication={"anonymous":null}', `authentication.anonymous: ${remedyFor('authentication.anonymous')}`],
    ['clusterDNS=["10.0.0.10",null]', 'clusterDNS: null is not a value; leave it out of the list'],
    ['clusterDNS=10.0.0.10,null', 'clusterDNS: null is not a value; leave it out of the list'],
    ['registerWithTaints=[{"key":null}]', 'registerWithTaints: null is not a value; leave it out of the list'],
  ])('%s is refused: null would be dropped', (word, message) => {
    expect(() => parseSetting(word, 32)).toThrow(new FieldWordError(message));
  });

  test('a field that this kubelet does not have yet is refused', () => {
    expect(() => parseSetting('memorySwap.swapBehavior=LimitedSwap', 17)).toThrow(
      "kubelet 1.17 has no field 'memorySwap",
    );
  });

  test('a node name is not a setting', () => {
    expect(['node-1', 'ip-10-0-0-1.ec2.internal', 'node/node-1'].map(looksLikeSetting)).toEqual([false, false, false]);
    expect(['maxPods=1', 'maxPods-'].map(looksLikeSetting)).toEqual([true, true]);
  });
});

describe('a document with a setting', () => {
  const document = { maxPods: 110, evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } };
  const set = (word: string) => withSetting(document, parseSetting(word, 32));

  test('keeps everything else, and leaves the original alone', () => {
    expect(set('evictionHard.memory.available=200Mi')).toEqual({
      maxPods: 110,
      evictionHard: { 'memory.available': '200Mi', 'nodefs.available': '10%' },
    });
    expect(document.evictionHard['memory.available']).toBe('100Mi');
  });

  test('loses what is unset', () => {
    expect(set('maxPods-')).not.toHaveProperty('maxPods');
    expect(set('evictionHard.memory.available-')).toEqual({
      maxPods: 110,
      evictionHard: { 'nodefs.available': '10%' },
    });
    expect(set('logging.format-')).toEqual(document);
  });

  test('makes the objects on the way', () => {
    expect(set('authentication.x509.clientCAFile=/ca')).toMatchObject({
      authentication: { x509: { clientCAFile: '/ca' } },
    });
  });

  test('takes a hostile key for a key', () => {
    const polluted = set('kubeReserved.__proto__=1');
    expect(Object.keys(polluted.kubeReserved as object)).toEqual(['__proto__']);
    expect(({} as { x?: unknown }).x).toBeUndefined();
    expect(Object.getPrototypeOf(polluted.kubeReserved)).toBe(Object.prototype);
  });
});
