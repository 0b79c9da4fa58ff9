/** Local configs and drop-ins that most kubelets from 1.28 on accept, and where an overlay differs from a drop-in on purpose. */
import fc from 'fast-check';
import type { Change } from '../src/config/diff.js';
import { header } from '../src/config/header.js';
import { getField, type KubeletConfig, type Minor } from '../src/config/model.js';
import { withSetting } from '../src/config/set-field.js';
import { asYaml } from '../src/go/yaml/write.js';
import { isObject } from '../src/json.js';

const { constantFrom: one, record, array, dictionary } = fc;
const taint = record(
  { key: one('a', 'b'), value: one('x', 'y', ''), effect: one('NoSchedule', 'NoExecute') },
  { requiredKeys: ['key', 'effect'] },
);
const reserved = dictionary(one('cpu', 'memory', 'pid'), one('100m', '1'), { maxKeys: 2 });
const signals = one('memory.available', 'nodefs.available', 'imagefs.inodesFree', 'pid.available');

const values: Record<string, fc.Arbitrary<unknown>> = {
  maxPods: one(0, 50, 110, 250),
  podsPerCore: one(0, 10),
  clusterDomain: one('', 'a', 'b'),
  clusterDNS: one([], ['10.0.0.1'], ['10.0.0.2', '10.0.0.3']),
  syncFrequency: one('0s', '30s', '60s'),
  nodeStatusUpdateFrequency: one('0s', '5s', '20s'),
  nodeStatusReportFrequency: one('0s', '1m'),
  evictionHard: dictionary(signals, one('5%', '1Gi'), { maxKeys: 3 }),
  evictionMinimumReclaim: dictionary(signals, one('1Gi'), { maxKeys: 2 }),
  kubeReserved: reserved,
  systemReserved: reserved,
  featureGates: dictionary(one('AllAlpha', 'CustomCPUCFSQuotaPeriod'), fc.boolean(), { maxKeys: 2 }).map((gates) =>
    gates.AllAlpha === true ? { ...gates, AllAlpha: false } : gates,
  ),
  registerWithTaints: array(taint, { maxLength: 2 }),
  reservedMemory: one([], [{ numaNode: 0, limits: { memory: '1Gi' } }], [{ limits: { 'hugepages-2Mi': '2Mi' } }]),
  shutdownGracePeriodByPodPriority: one([], [{ priority: 5, shutdownGracePeriodSeconds: 7 }], [{ priority: 6 }]),
  'authentication.anonymous.enabled': fc.boolean(),
  'authentication.webhook.enabled': fc.boolean(),
  'authentication.webhook.cacheTTL': one('0s', '1m'),
  'authorization.mode': one('AlwaysAllow', 'Webhook'),
  readOnlyPort: one(0, 10255),
  serializeImagePulls: fc.boolean(),
  maxParallelImagePulls: one(1, 2),
  enforceNodeAllocatable: one([], ['pods'], ['none']),
  imageGCHighThresholdPercent: one(85, 90),
  containerLogMaxSize: one('10Mi', '20Mi'),
  containerLogMaxFiles: one(2, 5),
  'memorySwap.swapBehavior': one('', 'LimitedSwap'),
  failSwapOn: fc.boolean(),
  resolvConf: one('', '/a', '/b'),
  staticPodPath: one('', '/a', '/b'),
  volumePluginDir: one('', '/v'),
  'logging.flushFrequency': one('5s', '10s'),
  'logging.vmodule': one([], [{ filePattern: 'a', verbosity: 3 }]),
  'tracing.endpoint': one('localhost:1', 'localhost:2'),
  'tracing.samplingRatePerMillion': one(0, 5),
  allowedUnsafeSysctls: one([], ['kernel.msg*']),
  memoryThrottlingFactor: one(0.5, 0.9),
  eventRecordQPS: one(0, 5),
  registryPullQPS: one(0, 5),
  oomScoreAdj: one(0, -999),
  healthzPort: one(0, 10248),
  serverTLSBootstrap: fc.boolean(),
  enableDebuggingHandlers: fc.boolean(),
  providerID: one('', 'p'),
};

const since: Record<string, fc.Arbitrary<unknown>> = { mergeDefaultEvictionSettings: fc.boolean() };

function configIn(minor: Minor): fc.Arbitrary<KubeletConfig> {
  const usable = { ...values, ...(minor >= 33 && since) };
  return fc
    .subarray(Object.keys(usable), { maxLength: 8 })
    .chain((paths) =>
      fc.tuple(...paths.map((path) => usable[path]!.map((value) => ({ path: path.split('.'), value })))),
    )
    .map((settings) => settings.reduce<KubeletConfig>(withSetting, {}));
}

/** Undefined on a host without --config. */
export const anyLocal = (minor: Minor): fc.Arbitrary<KubeletConfig | undefined> =>
  fc.option(configIn(minor), { nil: undefined, freq: 6 });

/** The text of a drop-in, which may have null values and names in another case. */
export function anyDropIn(minor: Minor): fc.Arbitrary<string> {
  const twist = fc.constantFrom('as it is', 'as it is', 'null', 'Capital', 'lower');
  return fc.tuple(configIn(minor), fc.infiniteStream(twist)).map(([config, twists]) => {
    const entries = Object.entries(config).map(([name, value]): [string, unknown] => {
      const [how] = twists.take(1);
      if (how === 'null') return [name, null];
      if (how === 'Capital') return [name[0]!.toUpperCase() + name.slice(1), value];
      return [how === 'lower' ? name.toLowerCase() : name, value];
    });
    return asYaml({ ...header, ...Object.fromEntries(entries) });
  });
}

interface Situation {
  minor: Minor;
  local: KubeletConfig;
  /** Fields that the overlay, or the drop-in, sets. */
  config: KubeletConfig;
}

/** Rows of the table in docs/overlays.md: whether it explains a difference. */
const deviations: Record<string, (field: string, on: Situation) => boolean> = {
  'defaults of the drop-in itself': (field, { minor, config }) => minor === 28 && getField(config, field) === undefined,
  'a zero value': (field, { minor, config }) => minor < 32 && isZero(getField(config, field)),
  resolvConf: (field, { minor }) => minor >= 29 && minor < 32 && field === 'resolvConf',
  'items of a list': (field, { minor, config }) =>
    minor >= 29 && minor < 32 && isListOfStructs(getField(config, field)),
  'a default that depends on another field': (field, { minor }) =>
    minor >= 29 && (field === 'nodeStatusReportFrequency' || field === 'serializeImagePulls'),
  'an empty map': (field, { config }) => isEmptyMap(getField(config, field)),
  'an empty list in the local file': (field, { minor, local }) =>
    minor >= 32 && field === 'enforceNodeAllocatable' && isZero(local.enforceNodeAllocatable),
  mergeDefaultEvictionSettings: (field, { minor, config }) =>
    minor >= 33 && field === 'evictionHard' && config.mergeDefaultEvictionSettings !== undefined,
};

export const isDeviation = ({ path }: Change, on: Situation): boolean =>
  Object.values(deviations).some((explains) => explains(path.replace(/\[.*$/s, ''), on));

const isZero = (value: unknown): boolean =>
  ['', 0, false, '0s'].includes(value as string) || (Array.isArray(value) && value.length === 0);
const isListOfStructs = (value: unknown): boolean => Array.isArray(value) && isObject(value[0]);
const isEmptyMap = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;
