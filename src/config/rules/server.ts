/** Rules about endpoints that the kubelet serves or connects to, and about container logs: log queries, the runtime, metrics, tracing. */
import { quote } from '../../go/quote.js';
import { goUrlError, schemeOf } from '../../go/url.js';
import type { ConfigView } from './config-view.js';

const threeSeconds = 3_000_000_000n;

export function checkHiddenMetrics(view: ConfigView): void {
  const version = view.text('showHiddenMetricsForVersion');
  const previous = `1.${view.minor - 1}`;
  if (view.minor < 18 || version === '' || version === previous) return;
  const field = 'showHiddenMetricsForVersion';
  const rule = `must be omitted or have the value '${previous}'`;
  view.report(
    field,
    view.minor >= 36
      ? `invalid ${field}: ${field}: Invalid value: ${quote(version)}: ${rule}; only the previous minor version is allowed`
      : `--show-hidden-metrics-for-version ${rule}. Only the previous minor version is allowed`,
  );
}

export function checkRuntimeEndpoint(view: ConfigView): void {
  if (view.minor >= 27 && view.text('containerRuntimeEndpoint') === '')
    view.report(
      'containerRuntimeEndpoint',
      'invalid configuration: the containerRuntimeEndpoint was not specified or empty',
    );
}

export function checkLogQuery(view: ConfigView): void {
  if (view.minor < 27 || !view.bool('enableSystemLogQuery')) return;
  if (!view.gate('NodeLogQuery'))
    view.report(
      'enableSystemLogQuery',
      `invalid configuration: NodeLogQuery feature gate is required for ${view.minor >= 35 ? 'enableSystemLogQuery' : 'enableSystemLogHandler'}`,
    );
  if (!view.bool('enableSystemLogHandler'))
    view.report(
      'enableSystemLogHandler',
      'invalid configuration: enableSystemLogHandler is required for enableSystemLogQuery',
    );
}

export function checkContainerLogs(view: ConfigView): void {
  if (view.minor < 30) return;
  if (view.number('containerLogMaxWorkers') < 1)
    view.report(
      'containerLogMaxWorkers',
      'invalid configuration: containerLogMaxWorkers must be greater than or equal to 1',
    );
  if (view.duration('containerLogMonitorInterval') < threeSeconds)
    view.report(
      'containerLogMonitorInterval',
      'invalid configuration: containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
    );
  if (view.minor >= 33 && view.number('containerLogMaxFiles') <= 1)
    view.report('containerLogMaxFiles', 'invalid configuration: containerLogMaxFiles must be greater than 1');
  checkPodLogsDir(view);
}

/** A relative path never fails here: the kubelet has joined it to the config file's directory, cleaned, before it looks. */
function checkPodLogsDir(view: ConfigView): void {
  const dir = view.text('podLogsDir');
  const complain = (rule: string) => view.report('podLogsDir', `invalid configuration: ${rule}`);
  if (dir === '') {
    complain('podLogsDir was not specified');
    complain(`pod logs path ${quote(dir)} must be absolute path`);
  }
  if (dir === '' || (dir.startsWith('/') && !isClean(dir))) complain(`pod logs path ${quote(dir)} must be normalized`);
  if (/[^\x00-\x7f]/.test(dir)) complain(`pod logs path ${quote(dir)} mut contains ASCII characters only`);
}

function isClean(path: string): boolean {
  return (
    path === '/' ||
    path
      .slice(1)
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

/** The sampling rate and the address of the collector. */
export function checkTracing(view: ConfigView): void {
  if (view.minor < 25 || !view.isSet('tracing')) return;
  if (view.minor < 34 && !view.gate('KubeletTracing')) {
    view.report(
      'tracing',
      'invalid configuration: tracing should not be configured if KubeletTracing feature flag is disabled.',
    );
    return;
  }
  const rate = view.number('tracing.samplingRatePerMillion');
  const rateError = (rule: string) =>
    view.report(
      'tracing.samplingRatePerMillion',
      `tracing.samplingRatePerMillion: Invalid value: ${rate}: sampling rate ${rule}`,
    );
  if (rate < 0) rateError('must be positive');
  if (rate > 1_000_000) rateError('per million must be less than or equal to one million');
  if (view.isSet('tracing.endpoint')) checkCollector(view);
}

function checkCollector(view: ConfigView): void {
  const path = 'tracing.endpoint';
  const given = view.text(path);
  const endpoint = given.includes('//') ? given : `dns://${given}`;
  const invalid = (detail: string) => view.report(path, `${path}: Invalid value: ${quote(endpoint)}: ${detail}`);
  const error = goUrlError(endpoint);
  const scheme = schemeOf(endpoint);
  if (error !== undefined) invalid(error);
  else if (!['dns', 'unix', 'unix-abstract'].includes(scheme))
    invalid(
      `unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
    );
}
