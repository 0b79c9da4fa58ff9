/**
 * Every feature gate a kubelet binary knows, by minor, from the .0 release of each: `NAME:FROM-TO` then the stage (Alpha, Beta, GA,
 * Deprecated), the default (+ or -) and `!` where it is locked to it. AllAlpha and AllBeta are in gates.ts.
 */
export const gateRows = `
APIListChunking:11-28B+,29-32G+! APIPriorityAndFairness:17-19A-,20-28B+,29-30G+! APIResponseCompression:11-15A-,16-37B+
APISelfSubjectReview:26A-,27B+,28-29G+! APIServerIdentity:20-25A-,26-37B+ APIServerTracing:22-26A-,27-33B+,34-36G+!
APIServerWebhookAuthenticationToken:37A- APIServingWithRoutine:30B+,31-37A-
AdmissionWebhookMatchConditions:27A-,28-29B+,30-32G+! AdvancedAuditing:11B+,12-26G+,27G+!
AggregatedDiscoveryEndpoint:26A-,27-29B+,30-32G+! AggregatedDiscoveryRemoveBetaType:33-34D+,35-37D+!
AllowDNSOnlyNodeCSR:31-37D- AllowInsecureBackendProxy:17-20B+,21-22G+!
AllowInsecureKubeletCertificateSigningRequests:31-37D- AllowOverwriteTerminationGracePeriodSeconds:32-34D-,35-37D-!
AllowParsingUserUIDFromCertAuth:33-37B+ AllowServiceExternalIPs:36-37G+ AllowServiceLBStatusOnNonLB:29-31D-,32-34D-!
AllowUnsafeMalformedObjectDeletion:32-36A-,37B+ AnonymousAuthConfigurableEndpoints:31A-,32-33B+,34-36G+!
AnyVolumeDataSource:18-23A-,24-32B+,33-36G+! AppArmor:11-30B+,31-32G+! AppArmorFields:30B+,31-32G+! AtomicFIFO:36-37B+
AtomicWriteVolumeUserFields:37A- AttachVolumeLimit:11A-,12B-,13-16B+,17-20G+!
AuthorizeNodeWithSelectors:31A-,32-33B+,34-36G+! AuthorizePodWebsocketUpgradeCreatePermission:35-37B+
AuthorizeWithSelectors:31A-,32-33B+,34-36G+! BalanceAttachedNodeVolumes:11-21A- BlockVolume:11-12A-,13-17B+,18-20G+!
BoundServiceAccountTokenVolume:13-20A-,21B+,22G+! BtreeWatchCache:32B+,33-36G+! CBORServingAndStorage:32-37A-
CPUManager:11-25B+,26-32G+! CPUManagerPolicyAlphaOptions:23-37A- CPUManagerPolicyBetaOptions:23-37B+
CPUManagerPolicyOptions:22A-,23-32B+,33-37G+! CRDObservedGenerationTracking:35B-,36-37B+
CRDValidationRatcheting:28-29A-,30-32B+,33-37G+! CRIContainerLogRotation:11-20B+,21G+! CRIListStreaming:36-37A-
CSIBlockVolume:11-13A-,14-17B+,18-20G+! CSIDriverRegistry:12-13A-,14-17B+,18-20G+!
CSIInlineVolume:14-15A-,16-24B+,25-26G+! CSIMigration:14-16A-,17-24B+,25-26G+!
CSIMigrationAWS:14-16A-,17-22B-,23-24B+,25-26G+! CSIMigrationAWSComplete:17-20A-
CSIMigrationAzureDisk:15-18A-,19-22B-,23B+,24G+,25-26G+! CSIMigrationAzureDiskComplete:17-20A-
CSIMigrationAzureFile:15-20A-,21-23B-,24-25B+,26G+,27-29G+! CSIMigrationAzureFileComplete:17-20A-
CSIMigrationGCE:14-16A-,17-22B-,23-24B+,25-27G+! CSIMigrationGCEComplete:17-20A-
CSIMigrationOpenStack:14-17A-,18-20B-,21-23B+,24-25G+! CSIMigrationOpenStackComplete:17-20A-
CSIMigrationPortworx:23-24A-,25-30B-,31-32B+,33-35G+! CSIMigrationRBD:24-27A-,28-30D-
CSIMigrationvSphere:19-24B-,25B+,26-28G+! CSIMigrationvSphereComplete:19-21B-
CSINodeExpandSecret:25-26A-,27-28B+,29-30G+! CSINodeInfo:12-13A-,14-16B+,17-20G+!
CSIPersistentVolume:11-12B+,13G+,14-15G+! CSIServiceAccountToken:20A-,21B+,22-24G+!
CSIServiceAccountTokenSecrets:35B+,36-37G+! CSIStorageCapacity:19-20A-,21-23B+,24-27G+!
CSIVolumeFSGroupPolicy:19A-,20-22B+,23-24G+! CSIVolumeHealth:21-37A- CSRDuration:22-23B+,24-25G+!
ChangeContainerStatusOnKubeletRestart:35-37D- ClearingNominatedNodeNameAfterBinding:34A-,35-37B+
ClientsAllowCARotation:36-37B+ ClientsAllowCBOR:32-37A- ClientsAllowTLSCacheGC:36-37B+ ClientsPreferCBOR:32-37A-
CloudControllerManagerWatchBasedRoutesReconciliation:35-37A- CloudControllerManagerWebhook:27-37A-
CloudDualStackNodeIPs:27-28A-,29B+,30-31G+! ClusterTrustBundle:27-32A-,33-36B-,37G+
ClusterTrustBundleProjection:29-32A-,33-36B-,37G+ ComponentFlagz:32-35A-,36-37B+ ComponentSLIs:26A-,27-31B+,32-34G+!
ComponentStatusz:32-35A-,36-37B+ CompositePodGroup:37A- ConcurrentWatchObjectDecode:31-36B-,37B+
ConfigurableFSGroupPolicy:18-19A-,20-22B+,23-24G+! ConsistentHTTPGetHandlers:26-29G+,30G+!
ConsistentListFromCache:28-30A-,31-33B+,34-36G+! ConsistentListFromCacheSkipTimeoutFallback:37A-
ConstrainedImpersonation:35A-,36-37B+ ContainerCheckpoint:25-29A-,30-37B+ ContainerRestartRules:34A-,35-37B+
ContainerStopSignals:33-37A- ContextualLogging:24-29A-,30-37B+ ControllerManagerLeaderMigration:21A-,22-23B+,24-26G+!
ControllerManagerReleaseLeaderElectionLockOnExit:36-37A- CoordinatedLeaderElection:31-32A-,33-37B-
CronJobControllerV2:20A-,21B+,22G+! CronJobTimeZone:24A-,25-26B+,27-28G+! CronJobsScheduledAnnotation:28-31B+,32-34G+!
CrossNamespaceVolumeDataSource:26-37A- CustomCPUCFSQuotaPeriod:12-35A-,36-37G+ CustomPodDNS:11-13B+,14-15G+!
CustomResourceDefaulting:15A-,16B+,17G+! CustomResourceFieldSelectors:30A-,31B+,32-37G+!
CustomResourcePublishOpenAPI:14A-,15B+,16-17G+! CustomResourceSubresources:11-15B+,16-17G+!
CustomResourceValidation:11-15B+,16-17G+! CustomResourceValidationExpressions:23-24A-,25-28B+,29-30G+!
CustomResourceWebhookConversion:13-14A-,15B+,16-17G+! DRAAdminAccess:32-33A-,34-35B+,36-37G+!
DRAConsumableCapacity:34-35A-,36-37B+ DRAControlPlaneController:31A- DRADerivedAttributes:37A-
DRADeviceBindingConditions:34-35A-,36-37B+ DRADeviceCompatibilityGroups:37A- DRADeviceTaintRules:35A-,36B-,37G+
DRADeviceTaints:33-35A-,36B+,37G+ DRAExtendedResource:34-35A-,36B+,37G+! DRAFractionalCapacityRange:37B-
DRAListTypeAttributes:36-37A- DRANodeAllocatableResources:36-37A- DRAOptionalNodeOperations:37A-
DRAPartitionableDevices:33-35A-,36-37B+ DRAPartitionableDevicesType:37A- DRAPrioritizedList:33A-,34-35B+,36G+,37G+!
DRAResourceClaimDeviceStatus:32A-,33-36B+,37G+! DRAResourceClaimGranularStatusAuthorization:36-37B+
DRAResourcePoolStatus:36-37A- DRASchedulerFilterTimeout:34-37B+ DRAWorkloadResourceClaims:36A-,37B-
DaemonSetUpdateSurge:21A-,22-24B+,25-26G+! DebugContainers:11-15A- DeclarativeValidation:33-35B+,36-37G+!
DeclarativeValidationBeta:36-37B+ DeclarativeValidationTakeover:33-35B-,36D-,37D-!
DefaultHostNetworkHostPortsInPodTemplates:28-30D- DefaultIngressClass:18B+,19G+! DefaultPodSysctls:37A-
DefaultPodTopologySpread:19A-,20-23B+,24-25G+! DelegateFSGroupToCSIDriver:22A-,23-25B+,26-27G+!
DeploymentReplicaSetTerminatingReplicas:33-34A-,35-37B+ DetectCacheInconsistency:34-37B+
DevicePluginCDIDevices:28A-,29-30B+,31-33G+! DevicePlugins:11-25B+,26-27G+!
DisableAcceleratorUsageMetrics:19A-,20-24B+,25-27G+! DisableAllocatorDualWrite:31-32A-,33B-,34G+,35-37G+!
DisableCPUQuotaWithExclusiveCPUs:33-35B+,36D+,37D+! DisableCloudProviders:22-28A-,29-30B+,31-32G+!
DisableKubeletCloudCredentialProviders:23-28A-,29-30B+,31-32G+!
DisableNodeKubeProxyVersion:29-30A-,31B+,32D-,33-35D+,36-37D+! DownwardAPIHugePages:20A-,21-22B-,23-26B+,27-28G+!
DryRun:12A-,13-18B+,19-25G+,26-27G+! DynamicAuditing:13-18A- DynamicKubeletConfig:11-21B+,22-25D-
DynamicProvisioningScheduling:11A- DynamicResourceAllocation:26-31A-,32-33B-,34G+,35-37G+!
EfficientWatchResumption:20A-,21-23B+,24-32G+! ElasticIndexedJob:27-30B+,31-33G+! EmptyDirVolumeMode:37A-
EnableAggregatedDiscoveryTimeout:16D+ EnableEquivalenceClassCache:11-13A- EndpointSlice:16A-,17B-,18-20B+,21-24G+!
EndpointSliceNodeName:20A-,21-24G+! EndpointSliceProxying:18A-,19-21B+,22-24G+!
EndpointSliceTerminatingCondition:20-21A-,22-25B+,26-27G+! EnvFiles:34A-,35-37B+
EphemeralContainers:16-22A-,23-24B+,25-26G+! EtcdRangeStream:37B+ EvenPodsSpread:16-17A-,18B+,19-20G+!
EventedPLEG:26A-,27-29B-,30-37A- EvictionRequestAPI:37A- ExcludeAdmissionWebhookVirtualResources:37B+
ExecProbeTimeout:20-34G+,35-37G+! ExpandCSIVolumes:14-15A-,16-23B+,24-26G+
ExpandInUsePersistentVolumes:11-14A-,15-23B+,24-26G+ ExpandPersistentVolumes:11-23B+,24-26G+
ExpandedDNSConfig:22-25A-,26-27B+,28-29G+! ExperimentalCriticalPodAnnotation:11-15A-
ExperimentalHostUserNamespaceDefaulting:11-27B-,28-29D-! ExtendWebSocketsToKubelet:36-37B+
ExternalPolicyForExternalIP:18G-,19G+,20-21G+! ExternalServiceAccountTokenSigner:32-33A-,34-35B+,36-37G+!
GCERegionalPersistentDisk:11-12B+,13-14G+,15-16G+! GRPCContainerProbe:23A-,24-26B+,27-28G+! GRPCContainerProbeTLS:37A-
GangScheduling:35-36A- GenericEphemeralVolume:19-20A-,21-22B+,23-24G+! GenericWorkload:35-36A-,37B-
GitRepoVolumeDriver:33-35D-,36-37D-! GracefulNodeShutdown:20A-,21-37B+
GracefulNodeShutdownBasedOnPodPriority:23A-,24-37B+ H2CContainerProbe:37A-
HPAConfigurableTolerance:33-34A-,35-36B+,37G+! HPAContainerMetrics:20-26A-,27-29B+,30-31G+! HPAGeneration:37B+
HPAOptimizedSelectorStore:37B+ HPAScaleToZero:16-36A-,37B+ HonorPVReclaimPolicy:23-30A-,31-32B+,33-35G+!
HostnameOverride:34A-,35-36B+,37G+! HugePageStorageMediumSize:18A-,19-21B+,22-23G+! HugePages:11-13B+,14-15G+!
HugepageAwareEviction:37B+ HyperVContainer:11-19A-,20D- IPTablesOwnershipCleanup:25-26A-,27B+,28-29G+!
IPv6DualStack:16-20A-,21-22B+,23-26G+! IdentifyPodOS:23A-,24B+,25-26G+! ImageMaximumGCAge:29A-,30-34B+,35-37G+!
ImageVolume:31-32A-,33-34B-,35B+,36-37G+! ImageVolumeWithDigest:36-37A- ImmutableEphemeralVolumes:18A-,19-20B+,21-23G+!
InOrderInformers:33-35B+,36-37G+! InOrderInformersBatchProcess:35-37B+
InPlacePodLevelResourcesVerticalScaling:35A-,36-37B+ InPlacePodVerticalScaling:27-32A-,33-34B+,35-37G+!
InPlacePodVerticalScalingAllocatedStatus:32A-,33-35D- InPlacePodVerticalScalingExclusiveCPUs:32-37A-
InPlacePodVerticalScalingExclusiveMemory:34-37A- InPlacePodVerticalScalingInitContainers:36B+,37G+!
InPlacePodVerticalScalingMemoryBackedVolumes:37A- InPlacePodVerticalScalingSchedulerPreemption:37A-
InTreePluginAWSUnregister:21-30A- InTreePluginAzureDiskUnregister:21-30A- InTreePluginAzureFileUnregister:21-30A-
InTreePluginGCEUnregister:21-30A- InTreePluginOpenStackUnregister:21-30A- InTreePluginPortworxUnregister:23-35A-
InTreePluginRBDUnregister:23-27A-,28-30D- InTreePluginvSphereUnregister:21-30A- IndexedJob:21A-,22-23B+,24-25G+!
InformerResourceVersion:30-34A-,35-37G+ IngressClassNamespacedParams:21A-,22B+,23-24G+! Initializers:11-13A-
InterPodAffinityHostnameFastPath:37A- JobBackoffLimitPerIndex:28A-,29-32B+,33-36G+!
JobManagedBy:30-31A-,32-34B+,35-37G+! JobMutableNodeSchedulingDirectives:23-26B+,27-28G+!
JobPodFailurePolicy:25A-,26-30B+,31-32G+! JobPodReplacementPolicy:28A-,29-33B+,34-36G+!
JobReadyPods:23A-,24-28B+,29-30G+! JobSuccessPolicy:30A-,31-32B+,33-36G+!
JobTrackingWithFinalizers:22A-,23B+,24B-,25B+,26-28G+! KMSv1:28D+,29-37D- KMSv2:25-26A-,27-28B+,29-31G+!
KMSv2KDF:28B-,29-31G+! KubeProxyDrainingTerminatingNodes:28-29A-,30B+,31-32G+! KubeProxyIPVS:37D+
KubeProxyNFTablesLocalhostNodePorts:37A- KubeletAllocatedPodsEndpoint:37A-
KubeletCgroupDriverFromCRI:28-30A-,31-33B+,34-37G+! KubeletCrashLoopBackOffMax:32-34A-,35-37B+
KubeletCredentialProviders:20-23A-,24-25B+,26-27G+! KubeletEnsureSecretPulledImages:33-34A-,35-37B+
KubeletFineGrainedAuthz:32A-,33-35B+,36-37G+! KubeletInUserNamespace:22-36A-,37B+ KubeletPSI:33A-,34-35B+,36-37G+!
KubeletPluginsWatcher:11A-,12B+,13G+,14-15G+! KubeletPodResources:13-14A-,15-27B+,28-29G+!
KubeletPodResourcesDynamicResources:27-33A-,34-35B+,36-37G+! KubeletPodResourcesGet:27-33A-,34-35B+,36-37G+!
KubeletPodResourcesGetAllocatable:21-22A-,23-27B+,28-29G+! KubeletPodResourcesListUseActivePods:34-37D+
KubeletRegistrationGetOnExistsOnly:32-37D- KubeletSeparateDiskGC:29-30A-,31-37B+
KubeletServiceAccountTokenForCredentialProviders:33A-,34-37B+ KubeletTracing:25-26A-,27-33B+,34-37G+!
LegacyNodeRoleBehavior:16-18A+,19-20B+,21G-! LegacyServiceAccountTokenCleanUp:28A-,29B+,30-31G+!
LegacyServiceAccountTokenNoAutoGeneration:24-25B+,26G+,27-28G+! LegacyServiceAccountTokenTracking:26A-,27B+,28-29G+!
LegacySidecarContainers:33D- ListFromCacheSnapshot:33A-,34-37B+ LoadBalancerIPMode:29A-,30-31B+,32-34G+!
LocalStorageCapacityIsolation:11-24B+,25-26G+!
LocalStorageCapacityIsolationFSQuotaMonitoring:15-24A-,25B+,26-30A-,31-37B- LogarithmicScaleDown:21A-,22-30B+,31-36G+!
LoggingAlphaOptions:25-37A- LoggingBetaOptions:25-37B+ ManifestBasedAdmissionControlConfig:36A-,37B+
MatchLabelKeysInPodAffinity:29-30A-,31-32B+,33-37G+! MatchLabelKeysInPodTopologySpread:25-26A-,27-37B+
MatchLabelKeysInPodTopologySpreadSelectorMerge:34-37B+ MaxUnavailableStatefulSet:24-34A-,35B+,36B-,37B+
MemoryManager:21A-,22-31B+,32-35G+! MemoryQoS:22-36A-,37B+ MinDomainsInPodTopologySpread:24A-,25-26B-,27-29B+,30-31G+!
MinimizeIPTablesRestore:26A-,27B+,28-29G+! MixedProtocolLBService:20-23A-,24-25B+,26-27G+! MountContainers:11-16A-
MountPropagation:11B+,12-13G+ MultiCIDRRangeAllocator:25-28A- MultiCIDRServiceAllocator:27-30A-,31-32B-,33G+,34-37G+!
MutableCSINodeAllocatableCount:33A-,34B-,35B+,36-37G+! MutablePVNodeAffinity:35-37A-
MutablePodResourcesForSuspendedJobs:35A-,36-37B+ MutableSchedulingDirectivesForSuspendedJobs:35A-,36-37B+
MutatingAdmissionPolicy:30-33A-,34-35B-,36-37G+ NFTablesNetlink:37B+ NFTablesProxyMode:29-30A-,31-32B+,33-37G+!
NamespaceDefaultLabelName:21B+,22-23G+! NativeHistograms:36A-,37B+ NetworkPolicyEndPort:21A-,22-24B+,25-26G+!
NetworkPolicyStatus:24-27A- NewVolumeManagerReconstruction:27-29B+,30-31G+! NodeControllerLeaseCircuitBreaker:37B+
NodeDeclaredFeatures:35A-,36B+,37G+! NodeDisruptionExclusion:16-18A-,19-20B+,21G+!
NodeInclusionPolicyInPodTopologySpread:25A-,26-32B+,33-37G+! NodeLease:12-13A-,14-16B+,17-22G+!
NodeLifecycleConditions:37A- NodeLogQuery:27-29A-,30-35B-,36-37G+! NodeOutOfServiceVolumeDetach:24-25A-,26-27B+,28-31G+!
NodeSwap:22-27A-,28-29B-,30-33B+,34-37G+! NominatedNodeNameForExpectation:34A-,35-37B+
NonPreemptingPriority:15-18A-,19-23B+,24-25G+! OpenAPIEnums:23A-,24-37B+ OpenAPIV3:23A-,24-26B+,27-28G+!
OpportunisticBatching:35-37B+ OrderedNamespaceDeletion:33B+,34-36G+! PDBUnhealthyPodEvictionPolicy:26A-,27-30B+,31-32G+!
PLEGOnDemandRelist:36B+,37G+! PersistentLocalVolumes:11-13B+,14-16G+! PersistentVolumeClaimUnusedSinceTime:36A-,37B+
PersistentVolumeLastPhaseTransitionTime:28A-,29-30B+,31-32G+! PodAffinityNamespaceSelector:21A-,22-23B+,24-25G+!
PodAndContainerStatsFromCRI:23-36A-,37B- PodCertificateRequest:34A-,35-36B-,37G+ PodDeletionCost:21A-,22-37B+
PodDisruptionBudget:17-20B+,21-24G+! PodDisruptionConditions:25A-,26-30B+,31-33G+! PodGroupPreemptionPolicy:37A-
PodHasNetworkCondition:25-27A- PodHostIPs:28A-,29B+,30-31G+! PodIndexLabel:28-31B+,32-34G+!
PodLevelResourceManagers:36A-,37B- PodLevelResources:32-33A-,34-37B+ PodLevelResourcesFixDefaulting:37B+
PodLevelResourcesFixKubeletQOSClass:37B+ PodLifecycleSleepAction:29A-,30-33B+,34-36G+!
PodLifecycleSleepActionAllowZero:32A-,33B+,34-36G+! PodLogsQuerySplitStreams:32-37A-
PodObservedGenerationTracking:33A-,34B+,35-37G+! PodOverhead:16-17A-,18-23B+,24-25G+!
PodPriority:11-13B+,14-15G+,16-17G+! PodReadinessGates:11B-,12-13B+,14-15G+!
PodReadyToStartContainersCondition:28A-,29-36B+,37G+! PodSchedulingReadiness:26A-,27-29B+,30-37G+!
PodSecurity:22A-,23-24B+,25-27G+! PodShareProcessNamespace:11A-,12-16B+,17-18G+!
PodTopologyLabelsAdmission:33-34A-,35-37B+ PodsAPI:36A-,37B+ PortForwardWebsockets:30A-,31-37B+
PreferNominatedNode:21A-,22-23B+,24-25G+! PreferSameTrafficDistribution:33A-,34B+,35-37G+!
PreventStaticPodAPIReferences:34-36B+ ProbeHostPodSecurityStandards:34G+!
ProbeTerminationGracePeriod:21A-,22-24B-,25-27B+,28G+! ProcMountType:12-30A-,31-32B-,33-35B+,36-37G+!
ProxyTerminatingEndpoints:22-25A-,26-27B+,28-29G+! QOSReserved:11-37A- ReadOnlyAPIDataVolumes:11D+
ReadWriteOncePod:22-26A-,27-28B+,29-30G+! RecoverVolumeExpansionFailure:23-31A-,32-33B+,34-37G+!
RecursiveReadOnlyMounts:30A-,31-32B+,33-37G+! ReduceDefaultCrashLoopBackOffDecay:33-37A-
RelaxedDNSSearchValidation:32A-,33B+,34-36G+! RelaxedEnvironmentVariableValidation:30-31A-,32-33B+,34-37G+!
RelaxedServiceNameValidation:34-35A-,36B+,37G+! ReloadKubeletClientCAFile:36-37B+
ReloadKubeletServerCertificateFile:31-37B+ RemainingItemCount:15A-,16-28B+,29-32G+! RemoteRequestHeaderUID:32A-,33-37B+
RemoveSelfLink:16-19A-,20-23B+,24-29G+! RequestManagement:15-16A- ResilientWatchCacheInitialization:31-33B+,34-36G+!
ResourceHealthStatus:31-35A-,36-37B+ ResourceHealthStatusMessage:36-37B+ ResourceLimitsPriorityFunction:11-18A-
ResourceQuotaScopeSelectors:11A-,12-16B+,17G+! RestartAllContainersOnContainerExits:35A-,36-37B+
RetroactiveDefaultStorageClass:25A-,26-27B+,28G+! RetryGenerateName:30A-,31B+,32-36G+! RootCAConfigMap:20B+,21G+!
RotateKubeletClientCertificate:11-18B+,19-20G+! RotateKubeletServerCertificate:11A-,12-37B+
RunAsGroup:11-13A-,14-20B+,21G+! RuntimeClass:12-13A-,14-19B+,20-23G+! RuntimeClassInImageCriApi:29-37A-
SCTPSupport:12-18A-,19B+,20-21G+! SELinuxChangePolicy:32A-,33-35B+,36-37G+! SELinuxMount:30-32A-,33-36B-,37G+
SELinuxMountReadWriteOncePod:25-26A-,27-35B+,36-37G+! ScheduleDaemonSetPods:11A-,12-16B+,17G+!
SchedulerAsyncAPICalls:34-35B+,36-37B- SchedulerAsyncPreemption:32A-,33-37B+ SchedulerPopFromBackoffQ:33-37B+
SchedulerPreQueueingHints:37A- SchedulerQueueingHints:28B+,29-31B-,32-33B+,34-36G+!
SeccompDefault:22-24A-,25-26B+,27-28G+! SecurityContextDeny:27-29A- SelectorIndex:18A-,19B+,20-24G+!
SeparateCacheWatchRPC:30-32B+,33-35D-,36-37D-! SeparateTaintEvictionController:29-33B+,34-37G+!
ServerSideApply:14-15A-,16-21B+,22-25G+,26-31G+! ServerSideFieldValidation:23-24A-,25-26B+,27-31G+!
ServiceAccountIssuerDiscovery:18-19A-,20B+,21-22G+! ServiceAccountNodeAudienceRestriction:32-37B+
ServiceAccountTokenJTI:29A-,30-31B+,32-37G+! ServiceAccountTokenNodeBinding:29-30A-,31-32B+,33-37G+!
ServiceAccountTokenNodeBindingValidation:29A-,30-31B+,32-37G+! ServiceAccountTokenPodNodeInfo:29A-,30-31B+,32-37G+!
ServiceAppProtocol:18A-,19B+,20-21G+! ServiceCIDRStatusFieldWiping:36-37D+ ServiceIPStaticSubrange:24A-,25B+,26-27G+!
ServiceInternalTrafficPolicy:21A-,22-25B+,26-27G+! ServiceLBNodePortControl:20-21A-,22-23B+,24-25G+!
ServiceLoadBalancerClass:21A-,22-23B+,24-25G+! ServiceLoadBalancerFinalizer:15A-,16B+,17-19G+!
ServiceNodeExclusion:11-18A-,19-20B+,21G+! ServiceNodePortStaticSubrange:27A-,28B+,29-30G+!
ServiceProxyAllowExternalIPs:11D- ServiceTopology:17-21A- ServiceTrafficDistribution:30A-,31-32B+,33-35G+!
SetHostnameAsFQDN:19A-,20-21B+,22-23G+! ShardedListAndWatch:36-37A- SidecarContainers:28A-,29-32B+,33-36G+!
SizeBasedListCostEstimate:34-37B+ SizeMemoryBackedVolumes:20-21A-,22-31B+,32-34G+!
SkipReadOnlyValidationGCE:28A-,29-30D+ StableLoadBalancerNodeSet:27-29B+,30-31G+!
StaleControllerConsistencyDaemonSet:36-37B+ StaleControllerConsistencyHPA:37B+ StaleControllerConsistencyJob:36-37B+
StaleControllerConsistencyReplicaSet:36-37B+ StaleControllerConsistencyStatefulSet:36-37B+
StartupProbe:16-17A-,18-19B+,20-22G+! StatefulSetAutoDeletePVC:23-26A-,27-31B+,32-34G+!
StatefulSetMinReadySeconds:22A-,23-24B+,25-26G+! StatefulSetRecreateStrategy:37A-
StatefulSetSemanticRevisionComparison:35-37B+ StatefulSetStartOrdinal:26A-,27-30B+,31-33G+!
StorageCapacityScoring:33-36A-,37B+ StorageNamespaceIndex:30-32B+,33-37D+ StorageObjectInUseProtection:11-22G+,23-24G+!
StorageVersionAPI:20-37A- StorageVersionHash:14A-,15-37B+ StorageVersionMigrator:30-34A-,35-36B-,37G+
StreamingCollectionEncodingToJSON:33B+,34-36G+! StreamingCollectionEncodingToProtobuf:33B+,34-36G+!
StreamingProxyRedirects:11-17B+,18-21D+,22-23D- StrictCostEnforcementForVAP:31B-,32-34G+!
StrictCostEnforcementForWebhooks:31B-,32-34G+! StrictIPCIDRValidation:33-35A-,36-37B+
StructuredAuthenticationConfiguration:29A-,30-33B+,34-36G+! StructuredAuthenticationConfigurationEgressSelector:34-37B+
StructuredAuthenticationConfigurationJWKSMetrics:35-37B+ StructuredAuthorizationConfiguration:29A-,30-31B+,32-35G+!
SupplementalGroupsPolicy:31-32A-,33-34B+,35-37G+! SupportIPVSProxyMode:11-19G+
SupportNodePidsLimit:14A-,15-19B+,20-22G+! SupportPodPidsLimit:11-13A-,14-19B+,20-22G+! SuspendJob:21A-,22-23B+,24-25G+!
Sysctls:11-20B+,21-22G+! SystemdWatchdog:32-34B+,35-37G+! TTLAfterFinished:12-20A-,21-22B+,23-24G+!
TaintBasedEvictions:11-12A-,13-17B+,18-19G+! TaintNodesByCondition:11A-,12-16B+,17G+!
TaintTolerationComparisonOperators:35-37A- TokenRequest:11A-,12-19B+,20G+! TokenRequestProjection:11A-,12-19B+,20G+!
TokenRequestServiceAccountUIDValidation:34-37B+ TopologyAwareHints:21-22A-,23B-,24-32B+,33-35G+!
TopologyAwareWorkloadScheduling:36-37A- TopologyManager:16-17A-,18-26B+,27-28G+!
TopologyManagerPolicyAlphaOptions:26-37A- TopologyManagerPolicyBetaOptions:26-27B-,28-37B+
TopologyManagerPolicyOptions:26-27A-,28-31B+,32-35G+,36-37G+! TranslateStreamCloseWebsocketRequests:29A-,30-37B+
UnauthenticatedHTTP2DOSMitigation:29-37B+ UnknownVersionInteroperabilityProxy:28-35A-,36-37B+
UnlockWhileProcessingFIFO:36-37B+ UserNamespacesHostNetworkSupport:35-37A- UserNamespacesPodSecurityStandards:29-34A-
UserNamespacesStatelessPodsSupport:25-27A- UserNamespacesSupport:28-29A-,30-32B-,33-35B+,36-37G+!
ValidateProxyRedirects:13A-,14-21B+,22-23D+ ValidatingAdmissionPolicy:26-27A-,28-29B-,30-31G+!
VolumeAttributesClass:29-30A-,31-33B-,34-35G+,36-37G+! VolumeBindMountOptions:37A- VolumeCapacityPriority:21-32A-
VolumeLimitScaling:35-36A-,37B+ VolumePVCDataSource:15A-,16-17B+,18-20G+! VolumeScheduling:11-12B+,13G+,14-15G+!
VolumeSnapshotDataSource:12-16A-,17-19B+,20-21G+! VolumeSubpath:11-22G+,23-24G+!
VolumeSubpathEnvExpansion:11-14A-,15-16B+,17-18G+! WarningHeaders:19-21B+,22-23G+! WatchBookmark:15A-,16B+,17-32G+!
WatchCacheInitializationPostStartHook:31-35B-,36B+,37G+! WatchFromStorageWithoutResourceVersion:30-32B-,33-35D-!
WatchList:27-31A-,32B+,33B-,34-37B+ WatchListClient:30-34B-,35-37B+ WatchListCompression:37B+
WebhookRoundTripLoadBalancing:37B+ WinDSR:14-32A-,33B+,34-37G+! WinOverlay:14-19A-,20-33B+,34-37G+!
WindowsCPUAndMemoryAffinity:32-37A- WindowsEndpointSliceProxying:19-20A-,21B+,22-24G+!
WindowsGMSA:14-15A-,16-17B+,18-20G+! WindowsGracefulNodeShutdown:32-33A-,34-37B+ WindowsHostNetwork:26-32A+,33-37D-
WindowsHostProcessContainers:22A-,23-25B+,26-27G+! WindowsRunAsUserName:16A-,17B+,18-20G+! WorkloadAwarePreemption:36A-
WorkloadWithJob:36-37A- ZeroLimitedNominalConcurrencyShares:29B-,30-31G+! csiMigrationRBD:23A-
`;

/**
 * Gates that a kubelet refuses unless others are on as well, checked since 1.35: `NAME<OTHER+OTHER`, then `@36` or `@35-36` where it
 * holds in these minors alone.
 */
export const gateDependencies = `
AuthorizeNodeWithSelectors<AuthorizeWithSelectors@35-36 ClusterTrustBundleProjection<ClusterTrustBundle
CompositePodGroup<GenericWorkload+TopologyAwareWorkloadScheduling@37 DRAAdminAccess<DynamicResourceAllocation
DRAConsumableCapacity<DynamicResourceAllocation DRADerivedAttributes<DynamicResourceAllocation@37
DRADeviceBindingConditions<DRAResourceClaimDeviceStatus+DynamicResourceAllocation
DRADeviceCompatibilityGroups<DRAPartitionableDevices+DynamicResourceAllocation@37 DRADeviceTaintRules<DRADeviceTaints
DRADeviceTaints<DynamicResourceAllocation DRAExtendedResource<DynamicResourceAllocation
DRAFractionalCapacityRange<DRAConsumableCapacity@37 DRAListTypeAttributes<DynamicResourceAllocation@36-37
DRANodeAllocatableResources<DynamicResourceAllocation@36-37
DRAOptionalNodeOperations<DynamicResourceAllocation+NodeDeclaredFeatures@37
DRAPartitionableDevices<DynamicResourceAllocation
DRAPartitionableDevicesType<DRAPartitionableDevices+DRAResourcePoolStatus+DynamicResourceAllocation@37
DRAPrioritizedList<DynamicResourceAllocation
DRAResourceClaimGranularStatusAuthorization<DRAResourceClaimDeviceStatus+DynamicResourceAllocation@36-37
DRAResourcePoolStatus<DynamicResourceAllocation@36-37 DRASchedulerFilterTimeout<DynamicResourceAllocation
DRAWorkloadResourceClaims<DynamicResourceAllocation+GenericWorkload@36-37
DeclarativeValidationBeta<DeclarativeValidation@36-37 DeclarativeValidationTakeover<DeclarativeValidation
DisableAllocatorDualWrite<MultiCIDRServiceAllocator EventedPLEG<PLEGOnDemandRelist@37
ExtendWebSocketsToKubelet<NodeDeclaredFeatures@36-37 GangScheduling<GenericWorkload@35-36
GracefulNodeShutdownBasedOnPodPriority<GracefulNodeShutdown H2CContainerProbe<NodeDeclaredFeatures@37
ImageVolumeWithDigest<ImageVolume@36-37
InPlacePodLevelResourcesVerticalScaling<InPlacePodVerticalScaling+NodeDeclaredFeatures+PodLevelResources
InPlacePodVerticalScalingAllocatedStatus<InPlacePodVerticalScaling@35
InPlacePodVerticalScalingExclusiveCPUs<InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveMemory<InPlacePodVerticalScaling+MemoryManager@35
InPlacePodVerticalScalingExclusiveMemory<InPlacePodVerticalScaling@36-37
InPlacePodVerticalScalingInitContainers<InPlacePodVerticalScaling+NodeDeclaredFeatures@36-37
InPlacePodVerticalScalingMemoryBackedVolumes<InPlacePodVerticalScaling+NodeDeclaredFeatures@37
InPlacePodVerticalScalingSchedulerPreemption<InPlacePodVerticalScaling@37
KubeletAllocatedPodsEndpoint<InPlacePodVerticalScaling@37
MatchLabelKeysInPodTopologySpreadSelectorMerge<MatchLabelKeysInPodTopologySpread
NodeControllerLeaseCircuitBreaker<AtomicFIFO@37 PodCertificateRequest<AuthorizeNodeWithSelectors@35-36
PodGroupPreemptionPolicy<GenericWorkload@37 PodLevelResourceManagers<PodLevelResources@36-37
PodLevelResourcesFixDefaulting<PodLevelResources@37 PodLevelResourcesFixKubeletQOSClass<PodLevelResources@37
PodLifecycleSleepActionAllowZero<PodLifecycleSleepAction@35-36 ProcMountType<UserNamespacesSupport
ResourceHealthStatus<DynamicResourceAllocation ResourceHealthStatusMessage<ResourceHealthStatus@36-37
RestartAllContainersOnContainerExits<ContainerRestartRules+NodeDeclaredFeatures
ServiceAccountTokenNodeBinding<ServiceAccountTokenNodeBindingValidation
StaleControllerConsistencyDaemonSet<AtomicFIFO@36-37 StaleControllerConsistencyHPA<AtomicFIFO@37
StaleControllerConsistencyJob<AtomicFIFO@36-37 StaleControllerConsistencyReplicaSet<AtomicFIFO@36-37
StaleControllerConsistencyStatefulSet<AtomicFIFO@36-37 StorageVersionAPI<APIServerIdentity
StructuredAuthenticationConfigurationEgressSelector<StructuredAuthenticationConfiguration@35-36
StructuredAuthenticationConfigurationJWKSMetrics<StructuredAuthenticationConfiguration@35-36
TopologyAwareWorkloadScheduling<GenericWorkload@36-37 UnknownVersionInteroperabilityProxy<APIServerIdentity
UserNamespacesHostNetworkSupport<UserNamespacesSupport@35
UserNamespacesHostNetworkSupport<NodeDeclaredFeatures+UserNamespacesSupport@36-37
WindowsCPUAndMemoryAffinity<MemoryManager@35 WindowsGracefulNodeShutdown<GracefulNodeShutdown
WorkloadAwarePreemption<GangScheduling@36 WorkloadWithJob<GenericWorkload@36-37
`;
