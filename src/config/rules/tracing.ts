/** Rules of the tracing section: the sampling rate and the collector's address. */
import { quote } from '../../go/text.js';
import { goUrlError, schemeOf } from '../../go/url.js';
import type { ConfigView } from './config-view.js';

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
  if (view.isSet('tracing.endpoint')) checkEndpoint(view);
}

function checkEndpoint(view: ConfigView): void {
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
