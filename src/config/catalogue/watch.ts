/**
 * Signals to watch after a change of each field, and when a change shows. Names of signals are those of api/signals.ts, which the agent
 * measures; names that begin with `kubelet_` or `rest_client_` are metrics of the kubelet, which need a scraper. A field that is not
 * listed is like the one that it is in. Metrics and reasons are those that the enhancement proposals of the features name.
 */
import type { SignalName } from '../../api/signals.js';
import { parentPath } from '../model.js';

const times = ['at once', 'for new pods only', 'after a reboot', 'when the node registers again'] as const;
export type Seen = (typeof times)[number];
export type WatchedMetric = `kubelet_${string}` | `rest_client_${string}`;

export interface Watch {
  seen: Seen;
  /** Measured by the agent, and compared in an analysis. */
  signals: readonly SignalName[];
  metrics: readonly WatchedMetric[];
}

const isMetric = (name: SignalName | WatchedMetric): name is WatchedMetric => name.includes('_');

const seen =
  (when: Seen) =>
  (...names: (SignalName | WatchedMetric)[]): Watch => ({
    seen: when,
    signals: names.filter((name) => !isMetric(name)),
    metrics: names.filter(isMetric),
  });

const atOnce = seen('at once');
const newPods = seen('for new pods only');
const afterReboot = seen('after a reboot');
const whenRegistered = seen('when the node registers again');

const watches: Readonly<Record<string, Watch>> = {
  // Pods
  maxPods: atOnce('rejectedPods', 'podStartSeconds', 'memoryPressure', 'kubeletCpu'),
  podsPerCore: atOnce('rejectedPods', 'podStartSeconds', 'memoryPressure', 'kubeletCpu'),
  podPidsLimit: newPods('restarts', 'lostReady', 'podTasks'),
  syncFrequency: atOnce('kubeletCpu', 'runtimeCpu', 'kubelet_pod_worker_duration_seconds'),
  clusterDomain: newPods('lostReady', 'restarts'),
  clusterDNS: newPods('lostReady', 'restarts', 'podStartSeconds'),
  resolvConf: newPods('lostReady', 'restarts', 'podStartSeconds'),
  cpuCFSQuota: newPods('cpuThrottled', 'cpuPressure', 'podStartSeconds'),
  cpuCFSQuotaPeriod: newPods('cpuThrottled', 'cpuPressure', 'podStartSeconds', 'lostReady'),
  seccompDefault: newPods('restarts', 'lostReady', 'podStartSeconds'),
  allowedUnsafeSysctls: atOnce('rejectedPods'),
  defaultPodSysctls: newPods('podStartSeconds', 'kubelet_runtime_operations_errors_total'),
  enableControllerAttachDetach: atOnce('podStartSeconds', 'lostReady'),
  volumePluginDir: atOnce('podStartSeconds', 'lostReady'),
  volumeStatsAggPeriod: atOnce('ioPressure', 'kubeletCpu', 'evictions'),
  localStorageCapacityIsolation: atOnce('rejectedPods', 'evictions'),
  userNamespaces: newPods('podStartSeconds', 'kubelet_started_user_namespaced_pods_errors_total'),
  crashLoopBackOff: atOnce('kubeletCpu', 'runtimeCpu', 'restarts'),
  shutdownGracePeriod: afterReboot('kubelet_graceful_shutdown_start_time_seconds'),
  shutdownGracePeriodCriticalPods: afterReboot('kubelet_graceful_shutdown_start_time_seconds'),
  shutdownGracePeriodByPodPriority: afterReboot('kubelet_graceful_shutdown_start_time_seconds'),
  // Eviction
  evictionHard: atOnce('evictions', 'oomKills', 'systemOomKills', 'memoryPressure', 'kubelet_evictions'),
  evictionSoft: atOnce('evictions', 'oomKills', 'memoryPressure', 'kubelet_evictions'),
  evictionSoftGracePeriod: atOnce('evictions', 'oomKills', 'memoryPressure', 'kubelet_evictions'),
  evictionPressureTransitionPeriod: atOnce('evictions', 'rejectedPods', 'kubelet_evictions'),
  evictionMaxPodGracePeriod: atOnce('evictions', 'memoryPressure', 'kubelet_evictions'),
  evictionMinimumReclaim: atOnce('evictions', 'kubelet_evictions'),
  mergeDefaultEvictionSettings: atOnce('evictions', 'oomKills', 'memoryPressure', 'kubelet_evictions'),
  kernelMemcgNotification: atOnce('evictions', 'oomKills', 'kubeletCpu', 'kubelet_evictions'),
  // Cgroups and memory
  cgroupDriver: atOnce('lostReady', 'restarts', 'podStartSeconds', 'oomKills'),
  cgroupRoot: atOnce('lostReady', 'restarts', 'podStartSeconds', 'oomKills'),
  cgroupsPerQOS: atOnce('oomKills', 'systemOomKills', 'cpuPressure', 'memoryPressure'),
  kubeletCgroups: atOnce('kubeletCpu', 'kubeletMemory', 'systemOomKills'),
  systemCgroups: atOnce('systemOomKills', 'cpuPressure', 'systemMemory'),
  qosReserved: atOnce('oomKills', 'memoryPressure', 'evictions'),
  failCgroupV1: atOnce(),
  singleProcessOOMKill: newPods('oomKills', 'restarts', 'lostReady'),
  memoryThrottlingFactor: newPods('memoryPressure', 'oomKills', 'podStartSeconds', 'lostReady'),
  memoryReservationPolicy: newPods('memoryPressure', 'oomKills', 'evictions'),
  memorySwap: newPods('memoryPressure', 'ioPressure', 'oomKills', 'evictions', 'lostReady'),
  failSwapOn: afterReboot('memoryPressure', 'ioPressure'),
  protectKernelDefaults: afterReboot('systemOomKills'),
  oomScoreAdj: atOnce('systemOomKills', 'oomKills'),
  maxOpenFiles: atOnce('lostReady', 'kubelet_runtime_operations_errors_total'),
  // Reservations
  systemReserved: atOnce('rejectedPods', 'evictions', 'oomKills', 'systemOomKills', 'memoryPressure', 'cpuPressure'),
  kubeReserved: atOnce('rejectedPods', 'evictions', 'oomKills', 'systemOomKills', 'memoryPressure', 'kubeletMemory'),
  systemReservedCgroup: atOnce('systemOomKills', 'systemMemoryPressure', 'cpuPressure', 'ioPressure'),
  kubeReservedCgroup: atOnce('systemOomKills', 'kubeletCpu', 'runtimeCpu', 'podStartSeconds'),
  enforceNodeAllocatable: atOnce(
    'oomKills',
    'systemOomKills',
    'memoryPressure',
    'systemMemoryPressure',
    'podStartSeconds',
  ),
  // CPU, memory and topology managers
  cpuManagerPolicy: newPods('cpuPressure', 'cpuThrottled', 'rejectedPods', 'kubelet_cpu_manager_pinning_errors_total'),
  cpuManagerPolicyOptions: newPods(
    'cpuPressure',
    'rejectedPods',
    'kubelet_cpu_manager_pinning_errors_total',
    'kubelet_container_aligned_compute_resources_failure_count',
  ),
  cpuManagerReconcilePeriod: atOnce('kubeletCpu', 'runtimeCpu'),
  reservedSystemCPUs: atOnce('rejectedPods', 'cpuPressure', 'cpuThrottled', 'podStartSeconds'),
  memoryManagerPolicy: newPods('rejectedPods', 'oomKills', 'kubelet_memory_manager_pinning_errors_total'),
  reservedMemory: atOnce('rejectedPods', 'evictions', 'kubelet_memory_manager_pinning_errors_total'),
  topologyManagerPolicy: atOnce('rejectedPods', 'podStartSeconds', 'kubelet_topology_manager_admission_errors_total'),
  topologyManagerScope: atOnce('rejectedPods', 'podStartSeconds', 'kubelet_topology_manager_admission_errors_total'),
  topologyManagerPolicyOptions: atOnce('rejectedPods', 'kubelet_topology_manager_admission_errors_total'),
  // Images, container logs and the runtime
  registryPullQPS: newPods('podStartSeconds', 'kubelet_runtime_operations_errors_total'),
  registryBurst: newPods('podStartSeconds', 'kubelet_runtime_operations_errors_total'),
  serializeImagePulls: newPods(
    'podStartSeconds',
    'ioPressure',
    'runtimeCpu',
    'runtimeMemoryPeak',
    'kubelet_runtime_operations_errors_total',
  ),
  maxParallelImagePulls: newPods(
    'podStartSeconds',
    'ioPressure',
    'runtimeCpu',
    'runtimeMemoryPeak',
    'kubelet_runtime_operations_errors_total',
  ),
  imagePullCredentialsVerificationPolicy: newPods(
    'podStartSeconds',
    'kubelet_imagemanager_image_mustpull_checks_total',
  ),
  preloadedImagesVerificationAllowlist: newPods('podStartSeconds', 'kubelet_imagemanager_image_mustpull_checks_total'),
  imageMinimumGCAge: atOnce('podStartSeconds', 'evictions', 'kubelet_image_garbage_collected_total'),
  imageMaximumGCAge: atOnce('podStartSeconds', 'ioPressure', 'kubelet_image_garbage_collected_total'),
  imageGCHighThresholdPercent: atOnce('evictions', 'podStartSeconds', 'kubelet_image_garbage_collected_total'),
  imageGCLowThresholdPercent: atOnce('evictions', 'podStartSeconds', 'kubelet_image_garbage_collected_total'),
  containerRuntimeEndpoint: atOnce('lostReady', 'podStartSeconds', 'kubelet_runtime_operations_errors_total'),
  imageServiceEndpoint: newPods('podStartSeconds', 'kubelet_runtime_operations_errors_total'),
  runtimeRequestTimeout: atOnce('podStartSeconds', 'lostReady', 'kubelet_runtime_operations_errors_total'),
  containerLogMaxSize: atOnce('ioPressure', 'kubeletCpu', 'evictions', 'runtimeCpu'),
  containerLogMaxFiles: atOnce('evictions', 'ioPressure'),
  containerLogMaxWorkers: atOnce('kubeletCpu', 'ioPressure'),
  containerLogMonitorInterval: atOnce('kubeletCpu', 'ioPressure', 'evictions'),
  podLogsDir: newPods('podStartSeconds', 'evictions', 'ioPressure'),
  // The kubelet as a server
  enableServer: atOnce('kubelet_http_requests_total'),
  address: atOnce('kubelet_http_requests_total'),
  port: atOnce('kubelet_http_requests_total'),
  readOnlyPort: atOnce('kubelet_http_requests_total'),
  tlsCertFile: atOnce('kubelet_http_requests_total'),
  tlsPrivateKeyFile: atOnce('kubelet_http_requests_total'),
  tlsCipherSuites: atOnce('kubelet_http_requests_total'),
  tlsMinVersion: atOnce('kubelet_http_requests_total'),
  tlsCurvePreferences: atOnce('kubelet_http_requests_total'),
  rotateCertificates: atOnce('rest_client_requests_total'),
  serverTLSBootstrap: atOnce('kubelet_server_expiration_renew_errors'),
  authentication: atOnce('kubelet_http_requests_total'),
  authorization: atOnce('kubelet_http_requests_total'),
  enableDebuggingHandlers: atOnce('kubelet_http_requests_total'),
  enableContentionProfiling: atOnce('kubeletCpu'),
  enableProfilingHandler: atOnce('kubelet_http_requests_total'),
  enableDebugFlagsHandler: atOnce('kubelet_http_requests_total'),
  enableSystemLogHandler: atOnce('kubelet_http_requests_total'),
  enableSystemLogQuery: atOnce('kubelet_http_requests_total'),
  healthzPort: atOnce(),
  healthzBindAddress: atOnce(),
  streamingConnectionIdleTimeout: atOnce('kubelet_http_requests_total'),
  showHiddenMetricsForVersion: atOnce(),
  // Talking to the API server
  contentType: atOnce('kubeletCpu', 'rest_client_requests_total'),
  kubeAPIQPS: atOnce('podStartSeconds', 'lostReady', 'rest_client_rate_limiter_duration_seconds'),
  kubeAPIBurst: atOnce('podStartSeconds', 'lostReady', 'rest_client_rate_limiter_duration_seconds'),
  eventRecordQPS: atOnce('rest_client_requests_total'),
  eventBurst: atOnce('rest_client_requests_total'),
  nodeStatusUpdateFrequency: atOnce('kubeletCpu', 'rest_client_requests_total'),
  nodeStatusReportFrequency: atOnce('rest_client_requests_total'),
  nodeLeaseDurationSeconds: atOnce('rest_client_requests_total'),
  nodeStatusMaxImages: atOnce('rest_client_requests_total'),
  registerNode: whenRegistered(),
  registerWithTaints: whenRegistered(),
  providerID: whenRegistered(),
  configMapAndSecretChangeDetectionStrategy: atOnce('podStartSeconds', 'kubeletMemory', 'rest_client_requests_total'),
  // Static pods
  staticPodPath: atOnce('lostReady', 'restarts'),
  fileCheckFrequency: atOnce('kubeletCpu'),
  httpCheckFrequency: atOnce('kubeletCpu'),
  staticPodURL: atOnce('lostReady', 'restarts'),
  staticPodURLHeader: atOnce('lostReady'),
  runOnce: atOnce('lostReady'),
  // Network
  podCIDR: newPods('podStartSeconds', 'lostReady'),
  hairpinMode: newPods('lostReady'),
  makeIPTablesUtilChains: afterReboot('lostReady'),
  iptablesMasqueradeBit: atOnce('lostReady'),
  iptablesDropBit: atOnce('lostReady'),
  // Log, traces and feature gates
  featureGates: atOnce('restarts', 'lostReady', 'podStartSeconds', 'kubeletCpu', 'kubeletMemory'),
  logging: atOnce('kubeletCpu', 'ioPressure', 'systemMemory'),
  tracing: atOnce('kubeletCpu', 'kubeletMemory', 'podStartSeconds'),
};

/** Source of each signal, for people. */
export const signalSources: Readonly<Record<SignalName, string>> = {
  oomKills: 'workloads with a container that ended as OOMKilled, from the status of pods',
  evictions: 'workloads with a pod that the kubelet evicted, not for a limit of its own, from the status of pods',
  restarts: 'workloads with a container that was restarted, from the status of pods',
  systemOomKills: 'OOM kills outside of pods, from /proc/vmstat and memory.events of kubepods; with cgroup v2',
  rejectedPods: 'workloads with a pod that the kubelet did not admit, from the status of pods',
  lostReady: 'workloads with a pod that stopped being Ready, from the status of pods',
  memoryPressure: 'time in which all of kubepods waited for memory, from memory.pressure or /proc/pressure',
  podStartSeconds: 'from PodScheduled to ContainersReady, the median of new pods',
  cpuPressure:
    'time in which something in kubepods waited for a CPU, also for its limit, from cpu.pressure or /proc/pressure',
  ioPressure: 'time in which something in kubepods waited for a disk, from io.pressure or /proc/pressure',
  cpuThrottled: 'share of CPU periods in which a pod with a limit was held back, from cpu.stat of pods',
  kubeletCpu: 'CPUs that the unit of the kubelet uses, from cpu.stat',
  kubeletMemory: 'memory of the unit of the kubelet, from memory.current',
  runtimeCpu: 'CPUs that the unit of the container runtime uses, from cpu.stat',
  runtimeMemory: 'memory of the unit of the container runtime, from memory.current',
  runtimeMemoryPeak: 'most memory of the unit of the container runtime since it was started, from memory.peak',
  podTasks: 'processes and threads of all pods, from pids.current of kubepods',
  systemMemory: 'memory of the services of the host, from memory.current of system.slice',
  systemMemoryPressure: 'time in which all of system.slice waited for memory, from memory.pressure; with cgroup v2',
};

/** The entry of the field, or of the nearest one that it is in: `evictionHard[memory.available]`. */
export function watchOf(path: string): Watch | undefined {
  for (let candidate = path; candidate !== ''; candidate = parentPath(candidate)) {
    const found = watches[candidate];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `Watch: evictions, oomKills (at once); restarts (for new pods only)`: each signal of these fields, when it first shows. */
export function watchSentence(paths: readonly string[]): string | undefined {
  const watched = paths.flatMap((path) => watchOf(path) ?? []);
  const named = new Set<SignalName>();
  const parts = times.flatMap((time) => {
    const found = watched.flatMap(({ seen, signals }) => (seen === time ? signals : []));
    const names = [...new Set(found)].filter((name) => !named.has(name));
    for (const name of names) named.add(name);
    return names.length === 0 ? [] : [`${names.join(', ')} (${time})`];
  });
  return parts.length === 0 ? undefined : `Watch: ${parts.join('; ')}`;
}

/** All keys of the table, for the test that compares them with the fields. */
export const watchedPaths: readonly string[] = Object.keys(watches);
