/**
 * Kubelet flags that write a config field: name, type, field, first and last minor that accept the flag. A flag older than
 * its field is accepted and writes nothing we keep.
 */

export type FlagType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'ip'
  | 'duration'
  | 'quantity'
  | 'list'
  | 'map='
  // One pair a flag; commas belong to the value.
  | 'pair='
  | 'map<'
  | 'gates'
  | 'headers'
  | 'taints'
  | 'reservedMemory'
  | 'level'
  | 'vmodule';

export type FlagRow = readonly [name: string, type: FlagType, field: string, first: number, last: number];

export const flagRows: readonly FlagRow[] = [
  ['address', 'ip', 'address', 11, 37],
  ['allowed-unsafe-sysctls', 'list', 'allowedUnsafeSysctls', 11, 37],
  ['anonymous-auth', 'bool', 'authentication.anonymous.enabled', 11, 37],
  ['authentication-token-webhook', 'bool', 'authentication.webhook.enabled', 11, 37],
  ['authentication-token-webhook-cache-ttl', 'duration', 'authentication.webhook.cacheTTL', 11, 37],
  ['authorization-mode', 'string', 'authorization.mode', 11, 37],
  ['authorization-webhook-cache-authorized-ttl', 'duration', 'authorization.webhook.cacheAuthorizedTTL', 11, 37],
  ['authorization-webhook-cache-unauthorized-ttl', 'duration', 'authorization.webhook.cacheUnauthorizedTTL', 11, 37],
  ['cgroup-driver', 'string', 'cgroupDriver', 11, 37],
  ['cgroup-root', 'string', 'cgroupRoot', 11, 37],
  ['cgroups-per-qos', 'bool', 'cgroupsPerQOS', 11, 37],
  ['client-ca-file', 'string', 'authentication.x509.clientCAFile', 11, 37],
  ['cluster-dns', 'list', 'clusterDNS', 11, 37],
  ['cluster-domain', 'string', 'clusterDomain', 11, 37],
  ['container-log-max-files', 'int32', 'containerLogMaxFiles', 11, 37],
  ['container-log-max-size', 'string', 'containerLogMaxSize', 11, 37],
  ['container-runtime-endpoint', 'string', 'containerRuntimeEndpoint', 11, 37],
  ['contention-profiling', 'bool', 'enableContentionProfiling', 11, 37],
  ['cpu-cfs-quota', 'bool', 'cpuCFSQuota', 11, 37],
  ['cpu-cfs-quota-period', 'duration', 'cpuCFSQuotaPeriod', 12, 37],
  ['cpu-manager-policy', 'string', 'cpuManagerPolicy', 11, 37],
  ['cpu-manager-policy-options', 'pair=', 'cpuManagerPolicyOptions', 22, 37],
  ['cpu-manager-reconcile-period', 'duration', 'cpuManagerReconcilePeriod', 11, 37],
  ['enable-controller-attach-detach', 'bool', 'enableControllerAttachDetach', 11, 37],
  ['enable-debugging-handlers', 'bool', 'enableDebuggingHandlers', 11, 37],
  ['enable-server', 'bool', 'enableServer', 11, 37],
  ['enforce-node-allocatable', 'list', 'enforceNodeAllocatable', 11, 37],
  ['event-burst', 'int32', 'eventBurst', 11, 37],
  ['event-qps', 'int32', 'eventRecordQPS', 11, 37],
  ['eviction-hard', 'map<', 'evictionHard', 11, 37],
  ['eviction-max-pod-grace-period', 'int32', 'evictionMaxPodGracePeriod', 11, 37],
  ['eviction-minimum-reclaim', 'map=', 'evictionMinimumReclaim', 11, 37],
  ['eviction-pressure-transition-period', 'duration', 'evictionPressureTransitionPeriod', 11, 37],
  ['eviction-soft', 'map<', 'evictionSoft', 11, 37],
  ['eviction-soft-grace-period', 'map=', 'evictionSoftGracePeriod', 11, 37],
  ['experimental-fail-swap-on', 'bool', 'failSwapOn', 11, 13],
  ['experimental-kernel-memcg-notification', 'bool', 'kernelMemcgNotification', 11, 24],
  ['fail-cgroupv1', 'bool', 'failCgroupV1', 31, 37],
  ['fail-swap-on', 'bool', 'failSwapOn', 11, 37],
  ['feature-gates', 'gates', 'featureGates', 11, 37],
  ['file-check-frequency', 'duration', 'fileCheckFrequency', 11, 37],
  ['hairpin-mode', 'string', 'hairpinMode', 11, 37],
  ['healthz-bind-address', 'ip', 'healthzBindAddress', 11, 37],
  ['healthz-port', 'int32', 'healthzPort', 11, 37],
  ['http-check-frequency', 'duration', 'httpCheckFrequency', 11, 37],
  ['image-gc-high-threshold', 'int32', 'imageGCHighThresholdPercent', 11, 37],
  ['image-gc-low-threshold', 'int32', 'imageGCLowThresholdPercent', 11, 37],
  ['image-service-endpoint', 'string', 'imageServiceEndpoint', 11, 37],
  ['iptables-drop-bit', 'int32', 'iptablesDropBit', 11, 30],
  ['iptables-masquerade-bit', 'int32', 'iptablesMasqueradeBit', 11, 30],
  ['kernel-memcg-notification', 'bool', 'kernelMemcgNotification', 19, 37],
  ['kube-api-burst', 'int32', 'kubeAPIBurst', 11, 37],
  ['kube-api-content-type', 'string', 'contentType', 11, 37],
  ['kube-api-qps', 'int32', 'kubeAPIQPS', 11, 37],
  ['kube-reserved', 'map=', 'kubeReserved', 11, 37],
  ['kube-reserved-cgroup', 'string', 'kubeReservedCgroup', 11, 37],
  ['kubelet-cgroups', 'string', 'kubeletCgroups', 11, 37],
  ['local-storage-capacity-isolation', 'bool', 'localStorageCapacityIsolation', 25, 37],
  ['log-flush-frequency', 'duration', 'logging.flushFrequency', 11, 37],
  ['log-json-info-buffer-size', 'quantity', 'logging.options.json.infoBufferSize', 23, 37],
  ['log-json-split-stream', 'bool', 'logging.options.json.splitStream', 23, 37],
  ['log-text-info-buffer-size', 'quantity', 'logging.options.text.infoBufferSize', 30, 37],
  ['log-text-split-stream', 'bool', 'logging.options.text.splitStream', 30, 37],
  ['logging-format', 'string', 'logging.format', 19, 37],
  ['make-iptables-util-chains', 'bool', 'makeIPTablesUtilChains', 11, 37],
  ['manifest-url', 'string', 'staticPodURL', 11, 37],
  ['manifest-url-header', 'headers', 'staticPodURLHeader', 11, 37],
  ['max-open-files', 'int64', 'maxOpenFiles', 11, 37],
  ['max-pods', 'int32', 'maxPods', 11, 37],
  ['memory-manager-policy', 'string', 'memoryManagerPolicy', 21, 37],
  ['minimum-image-ttl-duration', 'duration', 'imageMinimumGCAge', 11, 37],
  ['node-status-max-images', 'int32', 'nodeStatusMaxImages', 11, 37],
  ['node-status-update-frequency', 'duration', 'nodeStatusUpdateFrequency', 11, 37],
  ['oom-score-adj', 'int32', 'oomScoreAdj', 11, 37],
  ['pod-cidr', 'string', 'podCIDR', 11, 37],
  ['pod-manifest-path', 'string', 'staticPodPath', 11, 37],
  ['pod-max-pids', 'int64', 'podPidsLimit', 11, 37],
  ['pods-per-core', 'int32', 'podsPerCore', 11, 37],
  ['port', 'int32', 'port', 11, 37],
  ['protect-kernel-defaults', 'bool', 'protectKernelDefaults', 11, 37],
  ['provider-id', 'string', 'providerID', 11, 37],
  ['qos-reserved', 'map=', 'qosReserved', 11, 37],
  ['read-only-port', 'int32', 'readOnlyPort', 11, 37],
  ['register-node', 'bool', 'registerNode', 11, 37],
  ['register-with-taints', 'taints', 'registerWithTaints', 11, 37],
  ['registry-burst', 'int32', 'registryBurst', 11, 37],
  ['registry-qps', 'int32', 'registryPullQPS', 11, 37],
  ['reserved-cpus', 'string', 'reservedSystemCPUs', 17, 37],
  ['reserved-memory', 'reservedMemory', 'reservedMemory', 21, 37],
  ['resolv-conf', 'string', 'resolvConf', 11, 37],
  ['rotate-certificates', 'bool', 'rotateCertificates', 11, 37],
  ['rotate-server-certificates', 'bool', 'serverTLSBootstrap', 12, 37],
  ['runonce', 'bool', 'runOnce', 11, 37],
  ['runtime-request-timeout', 'duration', 'runtimeRequestTimeout', 11, 37],
  ['serialize-image-pulls', 'bool', 'serializeImagePulls', 11, 37],
  ['streaming-connection-idle-timeout', 'duration', 'streamingConnectionIdleTimeout', 11, 37],
  ['sync-frequency', 'duration', 'syncFrequency', 11, 37],
  ['system-cgroups', 'string', 'systemCgroups', 11, 37],
  ['system-reserved', 'map=', 'systemReserved', 11, 37],
  ['system-reserved-cgroup', 'string', 'systemReservedCgroup', 11, 37],
  ['tls-cert-file', 'string', 'tlsCertFile', 11, 37],
  ['tls-cipher-suites', 'list', 'tlsCipherSuites', 11, 37],
  ['tls-min-version', 'string', 'tlsMinVersion', 11, 37],
  ['tls-private-key-file', 'string', 'tlsPrivateKeyFile', 11, 37],
  ['topology-manager-policy', 'string', 'topologyManagerPolicy', 16, 37],
  ['topology-manager-policy-options', 'map=', 'topologyManagerPolicyOptions', 26, 37],
  ['topology-manager-scope', 'string', 'topologyManagerScope', 20, 37],
  ['v', 'level', 'logging.verbosity', 11, 37],
  ['vmodule', 'vmodule', 'logging.vmodule', 11, 37],
  ['volume-plugin-dir', 'string', 'volumePluginDir', 11, 37],
  ['volume-stats-agg-period', 'duration', 'volumeStatsAggPeriod', 11, 37],
];

/**
 * Kubelet flags that write no config field: name, type (b bool, s text, i int32, l int64, f float, d duration, m map), and the
 * minors that accept them. Linux, with the cloud providers of the time.
 */
export const otherFlags = `
add-dir-header:b16-25 allow-privileged:b11-14 alsologtostderr:b11-25 application-metrics-count-limit:l11-36
azure-container-registry-config:s11-29 boot-id-file:s11-36 bootstrap-checkpoint-path:s11-18 bootstrap-kubeconfig:s11-37
cadvisor-port:i11-11 cert-dir:s11-37 chaos-chance:f11-21 cloud-config:s11-33 cloud-provider:s11-37 cni-bin-dir:s11-23
cni-cache-dir:s16-23 cni-conf-dir:s11-23 config:s11-37 config-dir:s28-37 container-hints:s11-36 container-runtime:s11-26
containerd:s11-36 containerd-namespace:s20-36 containerized:b11-15 docker:s11-23 docker-disable-shared-pid:b11-11
docker-endpoint:s11-23 docker-env-metadata-whitelist:s11-23 docker-only:b11-23 docker-root:s11-23 docker-tls:b11-23
docker-tls-ca:s11-23 docker-tls-cert:s11-23 docker-tls-key:s11-23 dynamic-config-dir:s11-23
enable-cadvisor-json-endpoints:b15-20 enable-load-reader:b11-36 event-storage-age-limit:s11-36
event-storage-event-limit:s11-36 exit-on-lock-contention:b11-37 experimental-allocatable-ignore-eviction:b11-37
experimental-bootstrap-kubeconfig:s11-22 experimental-check-node-capabilities-before-mount:b11-23
experimental-dockershim:b11-18 experimental-dockershim-root-directory:s11-23 experimental-logging-sanitization:b20-23
experimental-mounter-path:s11-37 global-housekeeping-interval:d11-36 google-json-key:s11-12 help:b11-37
host-ipc-sources:s11-14 host-network-sources:s11-14 host-pid-sources:s11-14 hostname-override:s11-37
housekeeping-interval:d11-37 image-credential-provider-bin-dir:s20-37 image-credential-provider-config:s20-37
image-pull-progress-deadline:d11-23 keep-terminated-pod-volumes:b11-30 kubeconfig:s11-37 lock-file:s11-37
log-backtrace-at:s11-25 log-cadvisor-usage:b11-36 log-dir:s11-25 log-file:s13-25 log-file-max-size:l14-25
logtostderr:b11-25 machine-id-file:s11-36 master-service-namespace:s11-26 maximum-dead-containers:i11-37
maximum-dead-containers-per-container:i11-37 minimum-container-ttl-duration:d11-37 network-plugin:s11-23
network-plugin-mtu:i11-23 node-ip:s11-37 node-labels:m11-37 non-masquerade-cidr:s11-23 one-output:b19-25
pod-infra-container-image:s11-34 really-crash-for-testing:b11-23 redirect-container-streaming:b11-21
register-schedulable:b11-33 root-dir:s11-37 runtime-cgroups:s11-37 seccomp-default:b22-37 seccomp-profile-root:s11-22
skip-headers:b13-25 skip-log-headers:b14-25 stderrthreshold:s11-25 storage-driver-buffer-duration:d11-36
storage-driver-db:s11-36 storage-driver-host:s11-36 storage-driver-password:s11-36 storage-driver-secure:b11-36
storage-driver-table:s11-36 storage-driver-user:s11-36 version:b11-37
`;
