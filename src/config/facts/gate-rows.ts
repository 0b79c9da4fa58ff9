/**
 * Every feature gate a kubelet binary knows, by minor, from the .0 release of each: `NAME:FROM-TO` then the stage (Alpha, Beta, GA,
 * Deprecated), the default (+ or -) and `!` where it is locked to it. AllAlpha and AllBeta are in gates.ts.
 */
export const gateRows = `
APIListChunking:11-28B+,29-32G+! APIPriorityAndFairness:17-19A-,20-28B+,29-30G+!
APIResponseCompression:11-15A-,16-36B+ APISelfSubjectReview:26A-,27B+,28-29G+! APIServerIdentity:20-25A-,26-36B+
APIServerTracing:22-26A-,27-33B+,34-36G+! APIServingWithRoutine:30B+,31-36A-
AdmissionWebhookMatchConditions:27A-,28-29B+,30-32G+! AdvancedAuditing:11B+,12-26G+,27G+!
AggregatedDiscoveryEndpoint:26A-,27-29B+,30-32G+! AggregatedDiscoveryRemoveBetaType:33-34D+,35-36D+!
AllowDNSOnlyNodeCSR:31-36D- AllowInsecureBackendProxy:17-20B+,21-22G+!
AllowInsecureKubeletCertificateSigningRequests:31-36D- AllowOverwriteTerminationGracePeriodSeconds:32-34D-,35-36D-!
AllowParsingUserUIDFromCertAuth:33-36B+ AllowServiceExternalIPs:36G+ AllowServiceLBStatusOnNonLB:29-31D-,32-34D-!
AllowUnsafeMalformedObjectDeletion:32-36A- AnonymousAuthConfigurableEndpoints:31A-,32-33B+,34-36G+!
AnyVolumeDataSource:18-23A-,24-32B+,33-36G+! AppArmor:11-30B+,31-32G+! AppArmorFields:30B+,31-32G+! AtomicFIFO:36B+
AttachVolumeLimit:11A-,12B-,13-16B+,17-20G+! AuthorizeNodeWithSelectors:31A-,32-33B+,34-36G+!
AuthorizePodWebsocketUpgradeCreatePermission:35-36B+ AuthorizeWithSelectors:31A-,32-33B+,34-36G+!
BalanceAttachedNodeVolumes:11-21A- BlockVolume:11-12A-,13-17B+,18-20G+!
BoundServiceAccountTokenVolume:13-20A-,21B+,22G+! BtreeWatchCache:32B+,33-36G+! CBORServingAndStorage:32-36A-
CPUManager:11-25B+,26-32G+! CPUManagerPolicyAlphaOptions:23-36A- CPUManagerPolicyBetaOptions:23-36B+
CPUManagerPolicyOptions:22A-,23-32B+,33-36G+! CRDObservedGenerationTracking:35B-,36B+
CRDValidationRatcheting:28-29A-,30-32B+,33-36G+! CRIContainerLogRotation:11-20B+,21G+! CRIListStreaming:36A-
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
CSIServiceAccountTokenSecrets:35B+,36G+! CSIStorageCapacity:19-20A-,21-23B+,24-27G+!
CSIVolumeFSGroupPolicy:19A-,20-22B+,23-24G+! CSIVolumeHealth:21-36A- CSRDuration:22-23B+,24-25G+!
ChangeContainerStatusOnKubeletRestart:35-36D- ClearingNominatedNodeNameAfterBinding:34A-,35-36B+
ClientsAllowCARotation:36B+ ClientsAllowCBOR:32-36A- ClientsAllowTLSCacheGC:36B+ ClientsPreferCBOR:32-36A-
CloudControllerManagerWatchBasedRoutesReconciliation:35-36A- CloudControllerManagerWebhook:27-36A-
CloudDualStackNodeIPs:27-28A-,29B+,30-31G+! ClusterTrustBundle:27-32A-,33-36B-
ClusterTrustBundleProjection:29-32A-,33-36B- ComponentFlagz:32-35A-,36B+ ComponentSLIs:26A-,27-31B+,32-34G+!
ComponentStatusz:32-35A-,36B+ ConcurrentWatchObjectDecode:31-36B- ConfigurableFSGroupPolicy:18-19A-,20-22B+,23-24G+!
ConsistentHTTPGetHandlers:26-29G+,30G+! ConsistentListFromCache:28-30A-,31-33B+,34-36G+!
ConstrainedImpersonation:35A-,36B+ ContainerCheckpoint:25-29A-,30-36B+ ContainerRestartRules:34A-,35-36B+
ContainerStopSignals:33-36A- ContextualLogging:24-29A-,30-36B+ ControllerManagerLeaderMigration:21A-,22-23B+,24-26G+!
ControllerManagerReleaseLeaderElectionLockOnExit:36A- CoordinatedLeaderElection:31-32A-,33-36B-
CronJobControllerV2:20A-,21B+,22G+! CronJobTimeZone:24A-,25-26B+,27-28G+! CronJobsScheduledAnnotation:28-31B+,32-34G+!
CrossNamespaceVolumeDataSource:26-36A- CustomCPUCFSQuotaPeriod:12-35A-,36G+ CustomPodDNS:11-13B+,14-15G+!
CustomResourceDefaulting:15A-,16B+,17G+! CustomResourceFieldSelectors:30A-,31B+,32-36G+!
CustomResourcePublishOpenAPI:14A-,15B+,16-17G+! CustomResourceSubresources:11-15B+,16-17G+!
CustomResourceValidation:11-15B+,16-17G+! CustomResourceValidationExpressions:23-24A-,25-28B+,29-30G+!
CustomResourceWebhookConversion:13-14A-,15B+,16-17G+! DRAAdminAccess:32-33A-,34-35B+,36G+!
DRAConsumableCapacity:34-35A-,36B+ DRAControlPlaneController:31A- DRADeviceBindingConditions:34-35A-,36B+
DRADeviceTaintRules:35A-,36B- DRADeviceTaints:33-35A-,36B+ DRAExtendedResource:34-35A-,36B+ DRAListTypeAttributes:36A-
DRANodeAllocatableResources:36A- DRAPartitionableDevices:33-35A-,36B+ DRAPrioritizedList:33A-,34-35B+,36G+
DRAResourceClaimDeviceStatus:32A-,33-36B+ DRAResourceClaimGranularStatusAuthorization:36B+ DRAResourcePoolStatus:36A-
DRASchedulerFilterTimeout:34-36B+ DRAWorkloadResourceClaims:36A- DaemonSetUpdateSurge:21A-,22-24B+,25-26G+!
DebugContainers:11-15A- DeclarativeValidation:33-35B+,36G+! DeclarativeValidationBeta:36B+
DeclarativeValidationTakeover:33-35B-,36D- DefaultHostNetworkHostPortsInPodTemplates:28-30D-
DefaultIngressClass:18B+,19G+! DefaultPodTopologySpread:19A-,20-23B+,24-25G+!
DelegateFSGroupToCSIDriver:22A-,23-25B+,26-27G+! DeploymentReplicaSetTerminatingReplicas:33-34A-,35-36B+
DetectCacheInconsistency:34-36B+ DevicePluginCDIDevices:28A-,29-30B+,31-33G+! DevicePlugins:11-25B+,26-27G+!
DisableAcceleratorUsageMetrics:19A-,20-24B+,25-27G+! DisableAllocatorDualWrite:31-32A-,33B-,34G+,35-36G+!
DisableCPUQuotaWithExclusiveCPUs:33-35B+,36D+ DisableCloudProviders:22-28A-,29-30B+,31-32G+!
DisableKubeletCloudCredentialProviders:23-28A-,29-30B+,31-32G+!
DisableNodeKubeProxyVersion:29-30A-,31B+,32D-,33-35D+,36D+! DownwardAPIHugePages:20A-,21-22B-,23-26B+,27-28G+!
DryRun:12A-,13-18B+,19-25G+,26-27G+! DynamicAuditing:13-18A- DynamicKubeletConfig:11-21B+,22-25D-
DynamicProvisioningScheduling:11A- DynamicResourceAllocation:26-31A-,32-33B-,34G+,35-36G+!
EfficientWatchResumption:20A-,21-23B+,24-32G+! ElasticIndexedJob:27-30B+,31-33G+!
EnableAggregatedDiscoveryTimeout:16D+ EnableEquivalenceClassCache:11-13A- EndpointSlice:16A-,17B-,18-20B+,21-24G+!
EndpointSliceNodeName:20A-,21-24G+! EndpointSliceProxying:18A-,19-21B+,22-24G+!
EndpointSliceTerminatingCondition:20-21A-,22-25B+,26-27G+! EnvFiles:34A-,35-36B+
EphemeralContainers:16-22A-,23-24B+,25-26G+! EvenPodsSpread:16-17A-,18B+,19-20G+! EventedPLEG:26A-,27-29B-,30-36A-
ExecProbeTimeout:20-34G+,35-36G+! ExpandCSIVolumes:14-15A-,16-23B+,24-26G+
ExpandInUsePersistentVolumes:11-14A-,15-23B+,24-26G+ ExpandPersistentVolumes:11-23B+,24-26G+
ExpandedDNSConfig:22-25A-,26-27B+,28-29G+! ExperimentalCriticalPodAnnotation:11-15A-
ExperimentalHostUserNamespaceDefaulting:11-27B-,28-29D-! ExtendWebSocketsToKubelet:36B+
ExternalPolicyForExternalIP:18G-,19G+,20-21G+! ExternalServiceAccountTokenSigner:32-33A-,34-35B+,36G+!
GCERegionalPersistentDisk:11-12B+,13-14G+,15-16G+! GRPCContainerProbe:23A-,24-26B+,27-28G+! GangScheduling:35-36A-
GenericEphemeralVolume:19-20A-,21-22B+,23-24G+! GenericWorkload:35-36A- GitRepoVolumeDriver:33-35D-,36D-!
GracefulNodeShutdown:20A-,21-36B+ GracefulNodeShutdownBasedOnPodPriority:23A-,24-36B+
HPAConfigurableTolerance:33-34A-,35-36B+ HPAContainerMetrics:20-26A-,27-29B+,30-31G+! HPAScaleToZero:16-36A-
HonorPVReclaimPolicy:23-30A-,31-32B+,33-35G+! HostnameOverride:34A-,35-36B+
HugePageStorageMediumSize:18A-,19-21B+,22-23G+! HugePages:11-13B+,14-15G+! HyperVContainer:11-19A-,20D-
IPTablesOwnershipCleanup:25-26A-,27B+,28-29G+! IPv6DualStack:16-20A-,21-22B+,23-26G+! IdentifyPodOS:23A-,24B+,25-26G+!
ImageMaximumGCAge:29A-,30-34B+,35-36G+! ImageVolume:31-32A-,33-34B-,35B+,36G+! ImageVolumeWithDigest:36A-
ImmutableEphemeralVolumes:18A-,19-20B+,21-23G+! InOrderInformers:33-35B+,36G+! InOrderInformersBatchProcess:35-36B+
InPlacePodLevelResourcesVerticalScaling:35A-,36B+ InPlacePodVerticalScaling:27-32A-,33-34B+,35-36G+!
InPlacePodVerticalScalingAllocatedStatus:32A-,33-35D- InPlacePodVerticalScalingExclusiveCPUs:32-36A-
InPlacePodVerticalScalingExclusiveMemory:34-36A- InPlacePodVerticalScalingInitContainers:36B+
InTreePluginAWSUnregister:21-30A- InTreePluginAzureDiskUnregister:21-30A- InTreePluginAzureFileUnregister:21-30A-
InTreePluginGCEUnregister:21-30A- InTreePluginOpenStackUnregister:21-30A- InTreePluginPortworxUnregister:23-35A-
InTreePluginRBDUnregister:23-27A-,28-30D- InTreePluginvSphereUnregister:21-30A- IndexedJob:21A-,22-23B+,24-25G+!
InformerResourceVersion:30-34A-,35-36G+ IngressClassNamespacedParams:21A-,22B+,23-24G+! Initializers:11-13A-
JobBackoffLimitPerIndex:28A-,29-32B+,33-36G+! JobManagedBy:30-31A-,32-34B+,35-36G+!
JobMutableNodeSchedulingDirectives:23-26B+,27-28G+! JobPodFailurePolicy:25A-,26-30B+,31-32G+!
JobPodReplacementPolicy:28A-,29-33B+,34-36G+! JobReadyPods:23A-,24-28B+,29-30G+!
JobSuccessPolicy:30A-,31-32B+,33-36G+! JobTrackingWithFinalizers:22A-,23B+,24B-,25B+,26-28G+! KMSv1:28D+,29-36D-
KMSv2:25-26A-,27-28B+,29-31G+! KMSv2KDF:28B-,29-31G+! KubeProxyDrainingTerminatingNodes:28-29A-,30B+,31-32G+!
KubeletCgroupDriverFromCRI:28-30A-,31-33B+,34-36G+! KubeletCrashLoopBackOffMax:32-34A-,35-36B+
KubeletCredentialProviders:20-23A-,24-25B+,26-27G+! KubeletEnsureSecretPulledImages:33-34A-,35-36B+
KubeletFineGrainedAuthz:32A-,33-35B+,36G+! KubeletInUserNamespace:22-36A- KubeletPSI:33A-,34-35B+,36G+!
KubeletPluginsWatcher:11A-,12B+,13G+,14-15G+! KubeletPodResources:13-14A-,15-27B+,28-29G+!
KubeletPodResourcesDynamicResources:27-33A-,34-35B+,36G+! KubeletPodResourcesGet:27-33A-,34-35B+,36G+!
KubeletPodResourcesGetAllocatable:21-22A-,23-27B+,28-29G+! KubeletPodResourcesListUseActivePods:34-36D+
KubeletRegistrationGetOnExistsOnly:32-36D- KubeletSeparateDiskGC:29-30A-,31-36B+
KubeletServiceAccountTokenForCredentialProviders:33A-,34-36B+ KubeletTracing:25-26A-,27-33B+,34-36G+!
LegacyNodeRoleBehavior:16-18A+,19-20B+,21G-! LegacyServiceAccountTokenCleanUp:28A-,29B+,30-31G+!
LegacyServiceAccountTokenNoAutoGeneration:24-25B+,26G+,27-28G+! LegacyServiceAccountTokenTracking:26A-,27B+,28-29G+!
LegacySidecarContainers:33D- ListFromCacheSnapshot:33A-,34-36B+ LoadBalancerIPMode:29A-,30-31B+,32-34G+!
LocalStorageCapacityIsolation:11-24B+,25-26G+!
LocalStorageCapacityIsolationFSQuotaMonitoring:15-24A-,25B+,26-30A-,31-36B- LogarithmicScaleDown:21A-,22-30B+,31-36G+!
LoggingAlphaOptions:25-36A- LoggingBetaOptions:25-36B+ ManifestBasedAdmissionControlConfig:36A-
MatchLabelKeysInPodAffinity:29-30A-,31-32B+,33-36G+! MatchLabelKeysInPodTopologySpread:25-26A-,27-36B+
MatchLabelKeysInPodTopologySpreadSelectorMerge:34-36B+ MaxUnavailableStatefulSet:24-34A-,35B+,36B-
MemoryManager:21A-,22-31B+,32-35G+! MemoryQoS:22-36A- MinDomainsInPodTopologySpread:24A-,25-26B-,27-29B+,30-31G+!
MinimizeIPTablesRestore:26A-,27B+,28-29G+! MixedProtocolLBService:20-23A-,24-25B+,26-27G+! MountContainers:11-16A-
MountPropagation:11B+,12-13G+ MultiCIDRRangeAllocator:25-28A- MultiCIDRServiceAllocator:27-30A-,31-32B-,33G+,34-36G+!
MutableCSINodeAllocatableCount:33A-,34B-,35B+,36G+! MutablePVNodeAffinity:35-36A-
MutablePodResourcesForSuspendedJobs:35A-,36B+ MutableSchedulingDirectivesForSuspendedJobs:35A-,36B+
MutatingAdmissionPolicy:30-33A-,34-35B-,36G+ NFTablesProxyMode:29-30A-,31-32B+,33-36G+!
NamespaceDefaultLabelName:21B+,22-23G+! NativeHistograms:36A- NetworkPolicyEndPort:21A-,22-24B+,25-26G+!
NetworkPolicyStatus:24-27A- NewVolumeManagerReconstruction:27-29B+,30-31G+! NodeDeclaredFeatures:35A-,36B+
NodeDisruptionExclusion:16-18A-,19-20B+,21G+! NodeInclusionPolicyInPodTopologySpread:25A-,26-32B+,33-36G+!
NodeLease:12-13A-,14-16B+,17-22G+! NodeLogQuery:27-29A-,30-35B-,36G+!
NodeOutOfServiceVolumeDetach:24-25A-,26-27B+,28-31G+! NodeSwap:22-27A-,28-29B-,30-33B+,34-36G+!
NominatedNodeNameForExpectation:34A-,35-36B+ NonPreemptingPriority:15-18A-,19-23B+,24-25G+! OpenAPIEnums:23A-,24-36B+
OpenAPIV3:23A-,24-26B+,27-28G+! OpportunisticBatching:35-36B+ OrderedNamespaceDeletion:33B+,34-36G+!
PDBUnhealthyPodEvictionPolicy:26A-,27-30B+,31-32G+! PLEGOnDemandRelist:36B+ PersistentLocalVolumes:11-13B+,14-16G+!
PersistentVolumeClaimUnusedSinceTime:36A- PersistentVolumeLastPhaseTransitionTime:28A-,29-30B+,31-32G+!
PodAffinityNamespaceSelector:21A-,22-23B+,24-25G+! PodAndContainerStatsFromCRI:23-36A-
PodCertificateRequest:34A-,35-36B- PodDeletionCost:21A-,22-36B+ PodDisruptionBudget:17-20B+,21-24G+!
PodDisruptionConditions:25A-,26-30B+,31-33G+! PodHasNetworkCondition:25-27A- PodHostIPs:28A-,29B+,30-31G+!
PodIndexLabel:28-31B+,32-34G+! PodLevelResourceManagers:36A- PodLevelResources:32-33A-,34-36B+
PodLifecycleSleepAction:29A-,30-33B+,34-36G+! PodLifecycleSleepActionAllowZero:32A-,33B+,34-36G+!
PodLogsQuerySplitStreams:32-36A- PodObservedGenerationTracking:33A-,34B+,35-36G+! PodOverhead:16-17A-,18-23B+,24-25G+!
PodPriority:11-13B+,14-15G+,16-17G+! PodReadinessGates:11B-,12-13B+,14-15G+!
PodReadyToStartContainersCondition:28A-,29-36B+ PodSchedulingReadiness:26A-,27-29B+,30-36G+!
PodSecurity:22A-,23-24B+,25-27G+! PodShareProcessNamespace:11A-,12-16B+,17-18G+!
PodTopologyLabelsAdmission:33-34A-,35-36B+ PodsAPI:36A- PortForwardWebsockets:30A-,31-36B+
PreferNominatedNode:21A-,22-23B+,24-25G+! PreferSameTrafficDistribution:33A-,34B+,35-36G+!
PreventStaticPodAPIReferences:34-36B+ ProbeHostPodSecurityStandards:34G+!
ProbeTerminationGracePeriod:21A-,22-24B-,25-27B+,28G+! ProcMountType:12-30A-,31-32B-,33-35B+,36G+!
ProxyTerminatingEndpoints:22-25A-,26-27B+,28-29G+! QOSReserved:11-36A- ReadOnlyAPIDataVolumes:11D+
ReadWriteOncePod:22-26A-,27-28B+,29-30G+! RecoverVolumeExpansionFailure:23-31A-,32-33B+,34-36G+!
RecursiveReadOnlyMounts:30A-,31-32B+,33-36G+! ReduceDefaultCrashLoopBackOffDecay:33-36A-
RelaxedDNSSearchValidation:32A-,33B+,34-36G+! RelaxedEnvironmentVariableValidation:30-31A-,32-33B+,34-36G+!
RelaxedServiceNameValidation:34-35A-,36B+ ReloadKubeletClientCAFile:36B+ ReloadKubeletServerCertificateFile:31-36B+
RemainingItemCount:15A-,16-28B+,29-32G+! RemoteRequestHeaderUID:32A-,33-36B+ RemoveSelfLink:16-19A-,20-23B+,24-29G+!
RequestManagement:15-16A- ResilientWatchCacheInitialization:31-33B+,34-36G+! ResourceHealthStatus:31-35A-,36B+
ResourceHealthStatusMessage:36B+ ResourceLimitsPriorityFunction:11-18A- ResourceQuotaScopeSelectors:11A-,12-16B+,17G+!
RestartAllContainersOnContainerExits:35A-,36B+ RetroactiveDefaultStorageClass:25A-,26-27B+,28G+!
RetryGenerateName:30A-,31B+,32-36G+! RootCAConfigMap:20B+,21G+! RotateKubeletClientCertificate:11-18B+,19-20G+!
RotateKubeletServerCertificate:11A-,12-36B+ RunAsGroup:11-13A-,14-20B+,21G+! RuntimeClass:12-13A-,14-19B+,20-23G+!
RuntimeClassInImageCriApi:29-36A- SCTPSupport:12-18A-,19B+,20-21G+! SELinuxChangePolicy:32A-,33-35B+,36G+!
SELinuxMount:30-32A-,33-36B- SELinuxMountReadWriteOncePod:25-26A-,27-35B+,36G+!
ScheduleDaemonSetPods:11A-,12-16B+,17G+! SchedulerAsyncAPICalls:34-35B+,36B- SchedulerAsyncPreemption:32A-,33-36B+
SchedulerPopFromBackoffQ:33-36B+ SchedulerQueueingHints:28B+,29-31B-,32-33B+,34-36G+!
SeccompDefault:22-24A-,25-26B+,27-28G+! SecurityContextDeny:27-29A- SelectorIndex:18A-,19B+,20-24G+!
SeparateCacheWatchRPC:30-32B+,33-35D-,36D-! SeparateTaintEvictionController:29-33B+,34-36G+!
ServerSideApply:14-15A-,16-21B+,22-25G+,26-31G+! ServerSideFieldValidation:23-24A-,25-26B+,27-31G+!
ServiceAccountIssuerDiscovery:18-19A-,20B+,21-22G+! ServiceAccountNodeAudienceRestriction:32-36B+
ServiceAccountTokenJTI:29A-,30-31B+,32-36G+! ServiceAccountTokenNodeBinding:29-30A-,31-32B+,33-36G+!
ServiceAccountTokenNodeBindingValidation:29A-,30-31B+,32-36G+! ServiceAccountTokenPodNodeInfo:29A-,30-31B+,32-36G+!
ServiceAppProtocol:18A-,19B+,20-21G+! ServiceCIDRStatusFieldWiping:36D+ ServiceIPStaticSubrange:24A-,25B+,26-27G+!
ServiceInternalTrafficPolicy:21A-,22-25B+,26-27G+! ServiceLBNodePortControl:20-21A-,22-23B+,24-25G+!
ServiceLoadBalancerClass:21A-,22-23B+,24-25G+! ServiceLoadBalancerFinalizer:15A-,16B+,17-19G+!
ServiceNodeExclusion:11-18A-,19-20B+,21G+! ServiceNodePortStaticSubrange:27A-,28B+,29-30G+!
ServiceProxyAllowExternalIPs:11D- ServiceTopology:17-21A- ServiceTrafficDistribution:30A-,31-32B+,33-35G+!
SetHostnameAsFQDN:19A-,20-21B+,22-23G+! ShardedListAndWatch:36A- SidecarContainers:28A-,29-32B+,33-36G+!
SizeBasedListCostEstimate:34-36B+ SizeMemoryBackedVolumes:20-21A-,22-31B+,32-34G+!
SkipReadOnlyValidationGCE:28A-,29-30D+ StableLoadBalancerNodeSet:27-29B+,30-31G+!
StaleControllerConsistencyDaemonSet:36B+ StaleControllerConsistencyJob:36B+ StaleControllerConsistencyReplicaSet:36B+
StaleControllerConsistencyStatefulSet:36B+ StartupProbe:16-17A-,18-19B+,20-22G+!
StatefulSetAutoDeletePVC:23-26A-,27-31B+,32-34G+! StatefulSetMinReadySeconds:22A-,23-24B+,25-26G+!
StatefulSetSemanticRevisionComparison:35-36B+ StatefulSetStartOrdinal:26A-,27-30B+,31-33G+!
StorageCapacityScoring:33-36A- StorageNamespaceIndex:30-32B+,33-36D+ StorageObjectInUseProtection:11-22G+,23-24G+!
StorageVersionAPI:20-36A- StorageVersionHash:14A-,15-36B+ StorageVersionMigrator:30-34A-,35-36B-
StreamingCollectionEncodingToJSON:33B+,34-36G+! StreamingCollectionEncodingToProtobuf:33B+,34-36G+!
StreamingProxyRedirects:11-17B+,18-21D+,22-23D- StrictCostEnforcementForVAP:31B-,32-34G+!
StrictCostEnforcementForWebhooks:31B-,32-34G+! StrictIPCIDRValidation:33-35A-,36B+
StructuredAuthenticationConfiguration:29A-,30-33B+,34-36G+!
StructuredAuthenticationConfigurationEgressSelector:34-36B+ StructuredAuthenticationConfigurationJWKSMetrics:35-36B+
StructuredAuthorizationConfiguration:29A-,30-31B+,32-35G+! SupplementalGroupsPolicy:31-32A-,33-34B+,35-36G+!
SupportIPVSProxyMode:11-19G+ SupportNodePidsLimit:14A-,15-19B+,20-22G+! SupportPodPidsLimit:11-13A-,14-19B+,20-22G+!
SuspendJob:21A-,22-23B+,24-25G+! Sysctls:11-20B+,21-22G+! TTLAfterFinished:12-20A-,21-22B+,23-24G+!
TaintBasedEvictions:11-12A-,13-17B+,18-19G+! TaintNodesByCondition:11A-,12-16B+,17G+!
TaintTolerationComparisonOperators:35-36A- TokenRequest:11A-,12-19B+,20G+! TokenRequestProjection:11A-,12-19B+,20G+!
TokenRequestServiceAccountUIDValidation:34-36B+ TopologyAwareHints:21-22A-,23B-,24-32B+,33-35G+!
TopologyAwareWorkloadScheduling:36A- TopologyManager:16-17A-,18-26B+,27-28G+!
TopologyManagerPolicyAlphaOptions:26-36A- TopologyManagerPolicyBetaOptions:26-27B-,28-36B+
TopologyManagerPolicyOptions:26-27A-,28-31B+,32-35G+,36G+! TranslateStreamCloseWebsocketRequests:29A-,30-36B+
UnauthenticatedHTTP2DOSMitigation:29-36B+ UnknownVersionInteroperabilityProxy:28-35A-,36B+
UnlockWhileProcessingFIFO:36B+ UserNamespacesHostNetworkSupport:35-36A- UserNamespacesPodSecurityStandards:29-34A-
UserNamespacesStatelessPodsSupport:25-27A- UserNamespacesSupport:28-29A-,30-32B-,33-35B+,36G+!
ValidateProxyRedirects:13A-,14-21B+,22-23D+ ValidatingAdmissionPolicy:26-27A-,28-29B-,30-31G+!
VolumeAttributesClass:29-30A-,31-33B-,34-35G+,36G+! VolumeCapacityPriority:21-32A- VolumeLimitScaling:35-36A-
VolumePVCDataSource:15A-,16-17B+,18-20G+! VolumeScheduling:11-12B+,13G+,14-15G+!
VolumeSnapshotDataSource:12-16A-,17-19B+,20-21G+! VolumeSubpath:11-22G+,23-24G+!
VolumeSubpathEnvExpansion:11-14A-,15-16B+,17-18G+! WarningHeaders:19-21B+,22-23G+! WatchBookmark:15A-,16B+,17-32G+!
WatchCacheInitializationPostStartHook:31-35B-,36B+ WatchFromStorageWithoutResourceVersion:30-32B-,33-35D-!
WatchList:27-31A-,32B+,33B-,34-36B+ WatchListClient:30-34B-,35-36B+ WinDSR:14-32A-,33B+,34-36G+!
WinOverlay:14-19A-,20-33B+,34-36G+! WindowsCPUAndMemoryAffinity:32-36A-
WindowsEndpointSliceProxying:19-20A-,21B+,22-24G+! WindowsGMSA:14-15A-,16-17B+,18-20G+!
WindowsGracefulNodeShutdown:32-33A-,34-36B+ WindowsHostNetwork:26-32A+,33-36D-
WindowsHostProcessContainers:22A-,23-25B+,26-27G+! WindowsRunAsUserName:16A-,17B+,18-20G+!
WorkloadAwarePreemption:36A- WorkloadWithJob:36A- ZeroLimitedNominalConcurrencyShares:29B-,30-31G+!
csiMigrationRBD:23A-
`;

/**
 * Gates that a kubelet refuses unless others are on as well, checked since 1.35: `NAME<OTHER+OTHER`, then `@35` or `@36` where it
 * holds in that minor alone.
 */
export const gateDependencies = `
AuthorizeNodeWithSelectors<AuthorizeWithSelectors ClusterTrustBundleProjection<ClusterTrustBundle
DRAAdminAccess<DynamicResourceAllocation DRAConsumableCapacity<DynamicResourceAllocation
DRADeviceBindingConditions<DRAResourceClaimDeviceStatus+DynamicResourceAllocation DRADeviceTaintRules<DRADeviceTaints
DRADeviceTaints<DynamicResourceAllocation DRAExtendedResource<DynamicResourceAllocation
DRAListTypeAttributes<DynamicResourceAllocation@36 DRANodeAllocatableResources<DynamicResourceAllocation@36
DRAPartitionableDevices<DynamicResourceAllocation DRAPrioritizedList<DynamicResourceAllocation
DRAResourceClaimGranularStatusAuthorization<DRAResourceClaimDeviceStatus+DynamicResourceAllocation@36
DRAResourcePoolStatus<DynamicResourceAllocation@36 DRASchedulerFilterTimeout<DynamicResourceAllocation
DRAWorkloadResourceClaims<DynamicResourceAllocation+GenericWorkload@36
DeclarativeValidationBeta<DeclarativeValidation@36 DeclarativeValidationTakeover<DeclarativeValidation
DisableAllocatorDualWrite<MultiCIDRServiceAllocator ExtendWebSocketsToKubelet<NodeDeclaredFeatures@36
GangScheduling<GenericWorkload GracefulNodeShutdownBasedOnPodPriority<GracefulNodeShutdown
ImageVolumeWithDigest<ImageVolume@36
InPlacePodLevelResourcesVerticalScaling<InPlacePodVerticalScaling+NodeDeclaredFeatures+PodLevelResources
InPlacePodVerticalScalingAllocatedStatus<InPlacePodVerticalScaling@35
InPlacePodVerticalScalingExclusiveCPUs<InPlacePodVerticalScaling
InPlacePodVerticalScalingExclusiveMemory<InPlacePodVerticalScaling+MemoryManager@35
InPlacePodVerticalScalingExclusiveMemory<InPlacePodVerticalScaling@36
InPlacePodVerticalScalingInitContainers<InPlacePodVerticalScaling+NodeDeclaredFeatures@36
MatchLabelKeysInPodTopologySpreadSelectorMerge<MatchLabelKeysInPodTopologySpread
PodCertificateRequest<AuthorizeNodeWithSelectors PodLevelResourceManagers<PodLevelResources@36
PodLifecycleSleepActionAllowZero<PodLifecycleSleepAction ProcMountType<UserNamespacesSupport
ResourceHealthStatus<DynamicResourceAllocation ResourceHealthStatusMessage<ResourceHealthStatus@36
RestartAllContainersOnContainerExits<ContainerRestartRules+NodeDeclaredFeatures
ServiceAccountTokenNodeBinding<ServiceAccountTokenNodeBindingValidation
StaleControllerConsistencyDaemonSet<AtomicFIFO@36 StaleControllerConsistencyJob<AtomicFIFO@36
StaleControllerConsistencyReplicaSet<AtomicFIFO@36 StaleControllerConsistencyStatefulSet<AtomicFIFO@36
StorageVersionAPI<APIServerIdentity
StructuredAuthenticationConfigurationEgressSelector<StructuredAuthenticationConfiguration
StructuredAuthenticationConfigurationJWKSMetrics<StructuredAuthenticationConfiguration
TopologyAwareWorkloadScheduling<GenericWorkload@36 UnknownVersionInteroperabilityProxy<APIServerIdentity
UserNamespacesHostNetworkSupport<UserNamespacesSupport@35
UserNamespacesHostNetworkSupport<NodeDeclaredFeatures+UserNamespacesSupport@36
WindowsCPUAndMemoryAffinity<MemoryManager@35 WindowsGracefulNodeShutdown<GracefulNodeShutdown
WorkloadAwarePreemption<GangScheduling@36 WorkloadWithJob<GenericWorkload@36
`;
