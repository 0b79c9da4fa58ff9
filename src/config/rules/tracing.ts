/** Rules of the tracing section: the sampling rate and the collector's address. */
import { quote } from '../../go/text.js';
import { goUrlError, schemeOf } from '../../go/url.js';
import type { Judged } from './judged.js';

export function checkTracing(judged: Judged): void {
  if (judged.minor < 25 || !judged.isSet('tracing')) return;
  if (judged.minor < 34 && !judged.gate('KubeletTracing')) {
    judged.report(
      'tracing',
      'invalid configuration: tracing should not be configured if KubeletTracing feature flag is disabled.',
    );
    return;
  }
  const rate = judged.number('tracing.samplingRatePerMillion');
  const rateError = (rule: string) =>
    judged.report(
      'tracing.samplingRatePerMillion',
      `tracing.samplingRatePerMillion: Invalid value: ${rate}: sampling rate ${rule}`,
    );
  if (rate < 0) rateError('must be positive');
  if (rate > 1_000_000) rateError('per million must be less than or equal to one million');
  if (judged.isSet('tracing.endpoint')) checkEndpoint(judged);
}

function checkEndpoint(judged: Judged): void {
  const path = 'tracing.endpoint';
  const given = judged.text(path);
  const endpoint = given.includes('//') ? given : `dns://${given}`;
  const invalid = (detail: string) => judged.report(path, `${path}: Invalid value: ${quote(endpoint)}: ${detail}`);
  const error = goUrlError(endpoint);
  const scheme = schemeOf(endpoint);
  if (error !== undefined) invalid(error);
  else if (!['dns', 'unix', 'unix-abstract'].includes(scheme))
    invalid(
      `unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
    );
}
