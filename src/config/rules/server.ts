/** Rules about logs and endpoints the kubelet serves or calls: container logs, log queries, the runtime, hidden metrics. */
import { quote } from '../../go/text.js';
import type { Judged } from './judged.js';

const threeSeconds = 3_000_000_000n;

export function checkHiddenMetrics(judged: Judged): void {
  const version = judged.text('showHiddenMetricsForVersion');
  const previous = `1.${judged.minor - 1}`;
  if (judged.minor < 18 || version === '' || version === previous) return;
  judged.report(
    'showHiddenMetricsForVersion',
    `--show-hidden-metrics-for-version must be omitted or have the value '${previous}'. Only the previous minor version is allowed`,
  );
}

export function checkRuntimeEndpoint(judged: Judged): void {
  if (judged.minor >= 27 && judged.text('containerRuntimeEndpoint') === '')
    judged.report(
      'containerRuntimeEndpoint',
      'invalid configuration: the containerRuntimeEndpoint was not specified or empty',
    );
}

export function checkLogQuery(judged: Judged): void {
  if (judged.minor < 27 || !judged.bool('enableSystemLogQuery')) return;
  if (!judged.gate('NodeLogQuery'))
    judged.report(
      'enableSystemLogQuery',
      `invalid configuration: NodeLogQuery feature gate is required for ${judged.minor >= 35 ? 'enableSystemLogQuery' : 'enableSystemLogHandler'}`,
    );
  if (!judged.bool('enableSystemLogHandler'))
    judged.report(
      'enableSystemLogHandler',
      'invalid configuration: enableSystemLogHandler is required for enableSystemLogQuery',
    );
}

export function checkContainerLogs(judged: Judged): void {
  if (judged.minor < 30) return;
  if (judged.number('containerLogMaxWorkers') < 1)
    judged.report(
      'containerLogMaxWorkers',
      'invalid configuration: containerLogMaxWorkers must be greater than or equal to 1',
    );
  if (judged.duration('containerLogMonitorInterval') < threeSeconds)
    judged.report(
      'containerLogMonitorInterval',
      'invalid configuration: containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
    );
  if (judged.minor >= 33 && judged.number('containerLogMaxFiles') <= 1)
    judged.report('containerLogMaxFiles', 'invalid configuration: containerLogMaxFiles must be greater than 1');
  checkPodLogsDir(judged);
}

/** A relative path never fails here: the kubelet has joined it to the config file's directory, cleaned, before it looks. */
function checkPodLogsDir(judged: Judged): void {
  const dir = judged.text('podLogsDir');
  const complain = (rule: string) => judged.report('podLogsDir', `invalid configuration: ${rule}`);
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
