/** Catalogue entries for the kubelet's own logging, tracing and feature gates. */
import type { Change } from '../diff.js';
import { type Gates, gateAt, isGateOn } from '../gates.js';
import { keyOf } from './directions.js';
import type { Entries, Situation } from './entry.js';

const logger = 'The logger is set up at start.';

/** Read in the code of kubelets 1.11 to 1.37: none of these takes part in admission, volumes, cgroups or containers of pods. */
const podNeutral: ReadonlySet<string> = new Set(
  `AllowDNSOnlyNodeCSR ComponentFlagz ComponentSLIs ComponentStatusz ContextualLogging DisableAcceleratorUsageMetrics
  DisableKubeletCloudCredentialProviders DisableNodeKubeProxyVersion ExtendWebSocketsToKubelet GracefulNodeShutdown
  GracefulNodeShutdownBasedOnPodPriority ImageMaximumGCAge KubeletAllocatedPodsEndpoint KubeletCredentialProviders KubeletFineGrainedAuthz KubeletPodResources
  KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesGetAllocatable KubeletPSI
  KubeletRegistrationGetOnExistsOnly KubeletServiceAccountTokenForCredentialProviders KubeletTracing LoggingAlphaOptions
  LoggingBetaOptions NodeLogQuery PodLogsQuerySplitStreams ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  RotateKubeletClientCertificate RotateKubeletServerCertificate SystemdWatchdog`
    .split(/\s+/)
    .filter((name) => name !== ''),
);

/** AllAlpha and AllBeta are not gates themselves, and move many. */
function isSame(change: Change, { minor, before, after }: Situation): boolean {
  const name = keyOf(change) ?? '';
  if (/^All(Alpha|Beta)$/.test(name) || gateAt(name, minor) === undefined) return false;
  const [old, next] = [before, after].map(({ featureGates }) => isGateOn(name, (featureGates ?? {}) as Gates, minor));
  return old === next;
}

export const loggingAndGates: Entries = {
  featureGates: {
    what: 'Features turned on or off by name.',
    needs: 'drain',
    why: 'A gate may change how pods are admitted, mounted or written to disk. Kubernetes asks for a drain around such changes; so does relet, except for gates that it knows to leave pods alone.',
    risk: 'Unknown or locked gates are rejected. Turning one off again may leave files or pods the kubelet no longer understands.',
    cases: [
      {
        when: 'the gate is as before: what was set is its default, or what it gets',
        applies: isSame,
        needs: 'restart',
        why: 'The gate is on, or off, as it was.',
        risk: '',
        pods: 'unaffected',
      },
      {
        when: `a gate that leaves pods alone: ${[...podNeutral].join(', ')}`,
        applies: (change) => podNeutral.has(keyOf(change) ?? ''),
        needs: 'restart',
        why: 'This gate is about the kubelet itself: its certificates, its API, its log and metrics, image credentials or the shutdown of the host.',
        pods: 'unaffected',
      },
    ],
  },
  logging: {
    what: 'How the kubelet writes its log.',
    needs: 'restart',
    why: logger,
    risk: 'Log collectors that parse the old format.',
  },
  'logging.format': {
    what: 'text or json.',
    needs: 'restart',
    why: logger,
    risk: 'Collectors and alerts that parse the old format see nothing.',
  },
  'logging.sanitization': {
    what: 'Whether fields marked as secret are kept out of the log; was only in 1.20 to 1.23.',
    needs: 'restart',
    why: logger,
    risk: 'Costs CPU with every line. Newer kubelets call the field unknown.',
  },
  'logging.flushFrequency': {
    what: 'Longest time a log line waits before it is written.',
    needs: 'restart',
    why: logger,
    risk: 'Long values lose the last lines before a crash. In 1.23 to 1.27 a plain number of nanoseconds.',
  },
  'logging.verbosity': {
    what: 'How much is logged; 0 is the least, 2 is common.',
    needs: 'restart',
    why: logger,
    risk: 'From 6 on request bodies appear, secrets among them, and the disk fills.',
  },
  'logging.vmodule': {
    what: 'Verbosity for single source files; text format only.',
    needs: 'restart',
    why: logger,
    risk: 'With any other format it is refused.',
  },
  'logging.options': {
    what: 'Settings of the single formats.',
    needs: 'restart',
    why: logger,
    risk: 'Needs gates, which differ from version to version.',
  },
  'logging.options.json': {
    what: 'Settings of the JSON format.',
    needs: 'restart',
    why: logger,
    risk: 'Needs gate LoggingAlphaOptions.',
  },
  'logging.options.json.splitStream': {
    what: 'Whether errors go to stderr and the rest to stdout.',
    needs: 'none',
    why: 'Every kubelet so far overwrites what the file says with its flag, --log-json-split-stream, even when that is not given.',
    risk: 'None from the file. By flag, the order between the two streams is lost.',
  },
  'logging.options.json.infoBufferSize': {
    what: 'Bytes kept back before informational lines are written; 0 for none.',
    needs: 'restart',
    why: logger,
    risk: 'What is in the buffer is lost in a crash.',
  },
  'logging.options.text': {
    what: 'Settings of the text format.',
    needs: 'restart',
    why: logger,
    risk: 'Needs gate LoggingAlphaOptions.',
  },
  'logging.options.text.splitStream': {
    what: 'Whether errors go to stderr and the rest to stdout.',
    needs: 'none',
    why: 'Every kubelet so far overwrites what the file says with its flag, --log-text-split-stream, even when that is not given.',
    risk: 'None from the file. By flag, the order between the two streams is lost.',
  },
  'logging.options.text.infoBufferSize': {
    what: 'Bytes kept back before informational lines are written; 0 for none.',
    needs: 'restart',
    why: logger,
    risk: 'What is in the buffer is lost in a crash.',
  },
  tracing: {
    what: 'Traces of kubelet and runtime calls, in OpenTelemetry form.',
    needs: 'restart',
    why: 'The exporter is built at start.',
    risk: 'Costs CPU and network with the share that is sampled.',
  },
  'tracing.endpoint': {
    what: 'Collector that receives the traces.',
    needs: 'restart',
    why: 'The exporter is built at start.',
    risk: 'Traces go there without encryption or password; a dead collector only loses them.',
  },
  'tracing.samplingRatePerMillion': {
    what: 'How many calls in a million are traced.',
    needs: 'restart',
    why: 'The exporter is built at start.',
    risk: 'High values cost CPU on busy nodes.',
  },
};
