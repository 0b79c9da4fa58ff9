/** Configs of a size in bytes that cost the most: large maps and lists, merge keys, aliases, unknown and duplicate names. */

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const overlayHeader = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\n';

/** Lines until the size is reached; `line(i)` has about the same length for every i. */
function lines(bytes, line) {
  const found = [];
  for (let size = 0, i = 0; size < bytes; i++) {
    found.push(line(i));
    size += found.at(-1).length + 1;
  }
  return found.join('\n');
}

const map = (field, value) => (bytes, salt) => `${field}:\n${lines(bytes, (i) => `  k${i}: ${value(i + salt)}`)}\n`;
const list = (field, item) => (bytes, salt) => `${field}:\n${lines(bytes, (i) => `- ${item(i + salt)}`)}\n`;

/** `(bytes, salt)` to fields of a config; another salt gives other values, or other keys. */
export const bodies = {
  kubeReserved: map('kubeReserved', (i) => `${i}Mi`),
  evictionHard: map('evictionHard', (i) => `${i}Mi`),
  evictionSoftGracePeriod: map('evictionSoftGracePeriod', (i) => `${i}s`),
  'feature gates, unknown': map('featureGates', (i) => i % 2 === 0),
  'feature gates, other keys': (bytes, salt) => `featureGates:\n${lines(bytes, (i) => `  G${i}x${salt}: true`)}\n`,
  staticPodURLHeader: map('staticPodURLHeader', (i) => `[v${i}]`),
  tlsCipherSuites: list('tlsCipherSuites', (i) => `TLS_NOT_A_SUITE_${i}`),
  clusterDNS: list('clusterDNS', (i) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`),
  allowedUnsafeSysctls: list('allowedUnsafeSysctls', (i) => `net.core.some${i}`),
  enforceNodeAllocatable: list('enforceNodeAllocatable', (i) => `what${i}`),
  registerWithTaints: list('registerWithTaints', (i) => `{key: k${i}, value: v, effect: NoSchedule}`),
  reservedMemory: list('reservedMemory', (i) => `{numaNode: ${i}, limits: {memory: 1Gi}}`),
  shutdownGracePeriods: list(
    'shutdownGracePeriodByPodPriority',
    (i) => `{priority: ${i}, shutdownGracePeriodSeconds: 1}`,
  ),
  'unknown fields': (bytes, salt) => `${lines(bytes, (i) => `unknown${i}: ${i + salt}`)}\n`,
  'duplicate fields': (bytes, salt) => `${lines(bytes, (i) => `maxPods: ${(i + salt) % 200}`)}\n`,
  'merge keys': (bytes, salt) =>
    `kubeReserved:\n${lines(bytes, (i) => `  ${i === 0 ? 'a: &a {cpu: 1}' : `<<: {k${i}: ${i + salt}Mi}`}`)}\n`,
  'merge of a list': (bytes, salt) => `kubeReserved:\n  <<: [${lines(bytes, (i) => `{k${i}: ${i + salt}Mi},`)}]\n`,
  ...Object.fromEntries(
    ['[', ']', '.', ' ', 'a]', '\\u0085'].map((part) => [
      `one long key of ${JSON.stringify(part)}`,
      (bytes, salt) => `evictionHard:\n  "${part.repeat(bytes / part.length)}": ${salt}Mi\n`,
    ]),
  ),
  ...Object.fromEntries(
    [
      ['kubeReserved: {memory: "V"}', '9'],
      ['evictionHard: {memory.available: "V"}', '9'],
      ['evictionHard: {memory.available: "V%"}', '9'],
      ['syncFrequency: "Vs"', '9'],
      ['syncFrequency: "V"', '1h'],
      ['maxPods: V', '9'],
      ['reservedSystemCPUs: "V0"', '0-9,'],
      ['clusterDNS: ["V"]', '1:'],
      ['address: "V"', '1.'],
      ['staticPodURL: "http://V"', '%'],
      ['podCIDR: "V"', '1/'],
      ['allowedUnsafeSysctls: ["V"]', 'a.'],
      ['registerWithTaints: [{key: "V", effect: NoSchedule}]', 'a/'],
      ['clusterDomain: "V"', '.'],
      ['x: |\n  V', 'a\n  '],
      ['x: "V"', '\\n'],
      ["x: 'V'", "''"],
      ['x: V', 'a: '],
      ['x: {V}', 'a,'],
      ['# V', '#'],
    ].map(([text, part]) => [
      text.replace('\n', ' '),
      (bytes, salt) => `maxPods: ${salt}\n${text.replace('V', part.repeat(bytes / part.length))}\n`,
    ]),
  ),
  'one large number': (_bytes, salt) =>
    `kubeReserved: {memory: 1e99999999${salt}, cpu: 1E-999999999}\nreservedSystemCPUs: 0-999999999\n`,
  'flow depth': (bytes, salt) => `unknown${salt}: ${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}\n`,
  'one long text': (bytes, salt) => `clusterDomain: ${'x'.repeat(bytes)}${salt}\n`,
};

const indented = (text) => text.replace(/^(?=.)/gm, '  ');

/** A whole config, and an overlay, with these fields; and overlays that unset as many names. */
export const whole = (body, bytes, salt) => header + bodies[body](bytes, salt);
export const overlay = (body, bytes, salt) => `${overlayHeader}config:\n${indented(bodies[body](bytes, salt))}`;
export const unsets = {
  'unset of gates': (bytes) => `${overlayHeader}unset:\n${lines(bytes, (i) => `- featureGates.G${i}x1`)}\n`,
  'unset of keys': (bytes) => `${overlayHeader}unset:\n${lines(bytes, (i) => `- kubeReserved.k${i}`)}\n`,
  'unset of signals': (bytes) => `${overlayHeader}unset:\n${lines(bytes, (i) => `- evictionHard.k${i}`)}\n`,
  'unset of unknown fields': (bytes) => `${overlayHeader}unset:\n${lines(bytes, (i) => `- maxPod${i}`)}\n`,
};

/** A local config as a node reports it: flat with many keys, or deep. */
export const reported = {
  'kubeReserved, flat': (bytes, salt) => {
    const entries = [];
    for (let i = 0; entries.length * 13 < bytes; i++) entries.push([`k${i}`, `${i + salt}Mi`]);
    return { files: [{ path: '/l', config: { kubeReserved: Object.fromEntries(entries) } }] };
  },
  'unknown, deep': (bytes) => {
    let value = {};
    for (let i = 0; i < bytes / 6; i++) value = { a: value };
    return { files: [{ path: '/l', config: { x: value } }] };
  },
  'many files': (bytes, salt) => {
    const count = 64;
    const each = {
      kubeReserved: Object.fromEntries(
        Array.from({ length: bytes / count / 13 }, (_, i) => [`k${i}`, `${i + salt}Mi`]),
      ),
    };
    return {
      files: Array.from({ length: count }, (_, i) => ({
        path: `/l${i}`,
        ...(i > 0 && { dropIn: true }),
        config: each,
      })),
    };
  },
};
