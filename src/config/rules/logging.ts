/** Rules of the logging section. Until 1.24 the kubelet checks them together with the others; since 1.25 first and separately. */
import { quote } from '../../go/quote.js';
import { isGoBool } from '../../go/text.js';
import { type ConfigView, toNanoseconds } from './config-view.js';

const maxInt32 = 2147483647;

export function checkLogging(view: ConfigView): void {
  if (view.minor < 19) return;
  if (view.minor >= 35 && flushFrequency(view) <= 0n)
    view.report(
      'logging.flushFrequency',
      `logging.flushFrequency: Invalid value: ${JSON.stringify(view.get('logging.flushFrequency') ?? 0)}: Must be greater than zero`,
    );
  checkFormat(view);
  if (view.minor < 23) return;
  checkVerbosity(view);
  if (view.minor >= 25) checkOptions(view);
}

/**
 * A ticker of less than nothing panics: negative values stop the kubelet from 1.24 on, and are refused in words since 1.35.
 * Zero means the default.
 */
export function panicsOnFlush(view: ConfigView): boolean {
  return view.minor >= 24 && view.minor <= 34 && flushFrequency(view) < 0n;
}

function flushFrequency(view: ConfigView): bigint {
  return toNanoseconds(view.get('logging.flushFrequency'));
}

function checkFormat(view: ConfigView): void {
  const path = 'logging.format';
  const format = view.text(path);
  const hasFieldErrors = view.minor >= 22;
  // Until 1.21 an empty format is read as text; later kubelets default it before they look.
  if (!hasFieldErrors && format === '') return;
  if (format !== 'text')
    for (const flag of flagsNotHonoured(view))
      view.report(
        path,
        hasFieldErrors
          ? `${path}: Invalid value: ${quote(format)}: Non-default format doesn't honor flag: ${flag}`
          : `non-default logging format doesn't honor flag: ${flag}`,
      );
  if (format !== 'text' && format !== 'json')
    view.report(
      path,
      hasFieldErrors
        ? `${path}: Invalid value: ${quote(format)}: Unsupported log format`
        : `unsupported log format: ${format}`,
    );
  else if (format === 'json' && view.minor >= 25 && !view.gate('LoggingBetaOptions'))
    view.report(path, `${path}: Forbidden: Log format json is disabled, see LoggingBetaOptions feature`);
}

/** The text logger's own flags and their defaults, gone since 1.26. */
const textFlags: Record<string, string> = {
  'add-dir-header': 'false',
  alsologtostderr: 'false',
  'log-backtrace-at': ':0',
  'log-dir': '',
  'log-file': '',
  'log-file-max-size': '1800',
  logtostderr: 'true',
  'one-output': 'false',
  'skip-headers': 'false',
  'skip-log-headers': 'false',
  stderrthreshold: '2',
};

function flagsNotHonoured(view: ConfigView): string[] {
  if (view.minor > 25) return [];
  return Object.keys(textFlags)
    .filter((name) => {
      const given = view.context.flags.get(name)?.at(-1);
      if (given === undefined) return false;
      const isDefaultBool = isGoBool(given) && /^[1tT]/.test(given) === (textFlags[name] === 'true');
      return given !== textFlags[name] && !(isGoBool(given) && isGoBool(textFlags[name]!) && isDefaultBool);
    })
    .map((name) => (view.minor >= 23 ? name : name.replaceAll('-', '_')));
}

function checkVerbosity(view: ConfigView): void {
  const tooLoud = (path: string, value: number) =>
    view.report(path, `${path}: Invalid value: ${printUint32(value, view.minor)}: Must be <= ${maxInt32}`);
  const verbosity = view.number('logging.verbosity');
  if (verbosity > maxInt32) tooLoud('logging.verbosity', verbosity);
  const format = view.text('logging.format');
  const modules = view.list('logging.vmodule');
  if (modules.length > 0 && format !== '' && format !== 'text')
    view.report('logging.vmodule', 'logging.vmodule: Forbidden: Only supported for text log format');
  for (const [index, entry] of modules.entries()) {
    const { filePattern = '', verbosity: own = 0 } = (entry ?? {}) as { filePattern?: string; verbosity?: number };
    const path = `logging.vmodule[${index}]`;
    if (filePattern === '') view.report(path, `${path}: Required value: File pattern must not be empty`);
    if (/[=,]/.test(filePattern))
      view.report(
        path,
        `${path}: Invalid value: ${quote(filePattern)}: File pattern must not contain equal sign or comma`,
      );
    if (own > maxInt32) tooLoud(path, own);
  }
}

/** Go's `%#v` until 1.33, JSON since. */
function printUint32(value: number, minor: number): string {
  return minor >= 34 ? String(value) : `0x${value.toString(16)}`;
}

function checkOptions(view: ConfigView): void {
  if (view.gate('LoggingAlphaOptions')) return;
  for (const format of view.minor >= 30 ? ['text', 'json'] : ['json']) {
    const path = `logging.options.${format}`;
    const off = 'Forbidden: Feature LoggingAlphaOptions is disabled';
    if (view.bool(`${path}.splitStream`)) view.report(`${path}.splitStream`, `${path}.splitStream: ${off}`);
    const size = view.text(`${path}.infoBufferSize`);
    if (size !== '' && size !== '0') view.report(`${path}.infoBufferSize`, `${path}.infoBufferSize: ${off}`);
  }
}
