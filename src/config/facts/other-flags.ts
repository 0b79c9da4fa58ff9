/**
 * Kubelet flags that write no config field: name, type (b bool, s text, i int32, f float, d duration, m map), and the minors
 * that accept them. Linux, with the cloud providers of the time.
 */
export const otherFlags = `
add-dir-header:b16-25 allow-privileged:b11-14 alsologtostderr:b11-25 application-metrics-count-limit:s11-36
azure-container-registry-config:s11-29 boot-id-file:s11-36 bootstrap-checkpoint-path:s11-18 bootstrap-kubeconfig:s11-36
cadvisor-port:i11-11 cert-dir:s11-36 chaos-chance:f11-21 cloud-config:s11-33 cloud-provider:s11-36 cni-bin-dir:s11-23
cni-cache-dir:s16-23 cni-conf-dir:s11-23 config:s11-36 config-dir:s28-36 container-hints:s11-36 container-runtime:s11-26
containerd:s11-36 containerd-namespace:s20-36 containerized:b11-15 docker:s11-23 docker-disable-shared-pid:b11-11
docker-endpoint:s11-23 docker-env-metadata-whitelist:s11-23 docker-only:b11-23 docker-root:s11-23 docker-tls:b11-23
docker-tls-ca:s11-23 docker-tls-cert:s11-23 docker-tls-key:s11-23 dynamic-config-dir:s11-23
enable-cadvisor-json-endpoints:b15-20 enable-load-reader:b11-36 event-storage-age-limit:s11-36
event-storage-event-limit:s11-36 exit-on-lock-contention:b11-36 experimental-allocatable-ignore-eviction:b11-36
experimental-bootstrap-kubeconfig:s11-22 experimental-check-node-capabilities-before-mount:b11-23
experimental-dockershim:b11-18 experimental-dockershim-root-directory:s11-23 experimental-logging-sanitization:b20-23
experimental-mounter-path:s11-36 global-housekeeping-interval:d11-36 google-json-key:s11-12 help:b11-36
host-ipc-sources:s11-14 host-network-sources:s11-14 host-pid-sources:s11-14 hostname-override:s11-36
housekeeping-interval:d11-36 image-credential-provider-bin-dir:s20-36 image-credential-provider-config:s20-36
image-pull-progress-deadline:d11-23 keep-terminated-pod-volumes:b11-30 kubeconfig:s11-36 lock-file:s11-36
log-backtrace-at:s11-25 log-cadvisor-usage:b11-36 log-dir:s11-25 log-file:s13-25 log-file-max-size:s14-25
logtostderr:b11-25 machine-id-file:s11-36 master-service-namespace:s11-26 maximum-dead-containers:i11-36
maximum-dead-containers-per-container:i11-36 minimum-container-ttl-duration:d11-36 network-plugin:s11-23
network-plugin-mtu:i11-23 node-ip:s11-36 node-labels:m11-36 non-masquerade-cidr:s11-23 one-output:b19-25
pod-infra-container-image:s11-34 really-crash-for-testing:b11-23 redirect-container-streaming:b11-21
register-schedulable:b11-33 root-dir:s11-36 runtime-cgroups:s11-36 seccomp-default:b22-36 seccomp-profile-root:s11-22
skip-headers:b13-25 skip-log-headers:b14-25 stderrthreshold:s11-25 storage-driver-buffer-duration:d11-36
storage-driver-db:s11-36 storage-driver-host:s11-36 storage-driver-password:s11-36 storage-driver-secure:b11-36
storage-driver-table:s11-36 storage-driver-user:s11-36 version:b11-36
`;
