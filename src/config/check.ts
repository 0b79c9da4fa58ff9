/**
 * The whole check of one document, in the kubelet's order:
 *
 *   flags ─► their gates ─► decode ─► defaults ─► flags over it ─► validate ─► (accepted) ─► forecast
 *
 * The first step that refuses ends it, with the kubelet's message.
 */
import { type Decoded, DecodeError, decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { applyFlags, FlagError, flagAt, parseCommandLine } from './flags.js';
import { forecast } from './forecast.js';
import { placeCertificate, resolvePaths } from './host-paths.js';
import { internalZero } from './internal-version.js';
import {
  type CommandLine,
  type Finding,
  getField,
  type Host,
  type KubeletConfig,
  knownMinor,
  type Minor,
  type Position,
  type Positions,
} from './model.js';
import { sameValue } from './same-value.js';
import { validate, validateCommandLine } from './validate.js';

export interface CheckOptions {
  minor: Minor;
  /** Kubelet arguments as on its command line: `--max-pods=60`. */
  flags?: readonly string[];
  host?: Host;
  /** Unknown and duplicate fields are warnings, as for the kubelet; otherwise they are errors. Default false. */
  lenient?: boolean;
  /** Path of the file, for the kubelet's messages and for relative paths inside it. */
  file?: string;
}

export interface CheckResult {
  /** The kubelet's own answer. What stops it in flags, TLS set-up or by a panic counts as validate-error. */
  verdict: 'accepted' | 'decode-error' | 'validate-error';
  /** The kubelet's error as it prints it; '' when accepted. */
  message: string;
  /** relet's forecast for an accepted document; `fails` for any other. */
  startup: 'ok' | 'fails';
  findings: Finding[];
  /** Decoded, defaulted, overridden by flags, as on /configz; absent when it could not be decoded. */
  effective?: KubeletConfig;
}

export function check(text: string, options: CheckOptions): CheckResult {
  const minor = knownMinor(options.minor);
  const file = options.file ?? 'kubelet.yaml';
  let flags: CommandLine;
  try {
    flags = parseCommandLine(options.flags ?? [], minor);
  } catch (error) {
    if (error instanceof FlagError) return refusedFlag(error, minor);
    throw error;
  }
  const commandLine = validateCommandLine(flags, { minor });
  if (commandLine.stage !== 'accepted') return rejected('validate-error', commandLine.message, commandLine.findings);
  try {
    const decoded = decode(text, { minor, file, strict: options.lenient !== true });
    return checkDecoded(decoded, flags, minor, file, options.host);
  } catch (error) {
    if (error instanceof DecodeError)
      return rejected('decode-error', loadMessage(error.message, file, minor), error.findings);
    throw error;
  }
}

function checkDecoded(
  decoded: Decoded,
  flags: CommandLine,
  minor: Minor,
  file: string,
  host: Host | undefined,
): CheckResult {
  const document = decoded.config;
  const defaulted = decoded.isInternal ? internalZero(minor) : setDefaults(document, minor);
  resolvePaths(defaulted, file, minor);
  const config = applyFlags(defaulted, flags, minor);
  const context = { minor, flags, document, ...(host && { host }) };
  const view = validate(config, context);
  const findings = [...decoded.findings, ...pinned(document, config, flags, minor), ...view.findings];
  if (view.stage !== 'accepted') {
    const result = rejected('validate-error', view.message, place(findings, decoded.positions));
    return { ...result, effective: config };
  }
  const foreseen = forecast(config, context);
  const fails = foreseen.some(({ severity }) => severity === 'error');
  placeCertificate(config, flags.get('cert-dir')?.at(-1) ?? '/var/lib/kubelet/pki');
  return {
    verdict: 'accepted',
    message: '',
    startup: fails ? 'fails' : 'ok',
    findings: place([...findings, ...foreseen], decoded.positions),
    effective: config,
  };
}

function rejected(verdict: 'decode-error' | 'validate-error', message: string, findings: Finding[]): CheckResult {
  return { verdict, message, startup: 'fails', findings };
}

function refusedFlag({ message, flag }: FlagError, minor: Minor): CheckResult {
  const finding: Finding = { severity: 'error', source: 'kubelet', path: flag === '' ? '' : `--${flag}`, message };
  return rejected('validate-error', minor < 24 ? message : `failed to parse kubelet flag: ${message}`, [finding]);
}

function loadMessage(message: string, file: string, minor: Minor): string {
  const load = `failed to load Kubelet config file ${file}, error ${message}`;
  if (minor < 24) return load;
  if (minor < 28) return `failed to load kubelet config file, error: ${load}, path: ${file}`;
  return `failed to load kubelet config file, path: ${file}, error: ${load}`;
}

/** Fields that the document sets and a flag sets otherwise: editing the document will not change them. */
function pinned(document: KubeletConfig, config: KubeletConfig, flags: CommandLine, minor: Minor): Finding[] {
  const findings: Finding[] = [];
  for (const name of flags.keys()) {
    const path = flagAt(name, minor)?.field;
    const wanted = path === undefined ? undefined : getField(document, path);
    if (path === undefined || wanted === undefined || wanted === null || name === 'feature-gates') continue;
    if (sameValue(wanted, getField(config, path), path)) continue;
    const message = `${path} is pinned by the kubelet's flag --${name}; what the document says has no effect`;
    findings.push({ severity: 'warning', source: 'relet', path, message });
  }
  return findings;
}

/** Line and column of the path, else of the nearest parent the document names, else of a field that the message speaks of. */
function place(findings: Finding[], positions: Positions): Finding[] {
  return findings.map((finding) => {
    if (finding.line !== undefined) return finding;
    const at = nearestPosition(finding.path, positions) ?? mentionedPosition(finding.message, positions);
    return at === undefined ? finding : { ...finding, ...at };
  });
}

function nearestPosition(from: string, positions: Positions): Position | undefined {
  for (let path = from; path !== ''; path = path.replace(/(^|\.)[^.[\]]+$|\[[^\]]*\]$/, '')) {
    const at = positions.get(path);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** A default may be what is wrong with a field the document does set: the low threshold, 80, above a high one of 70. */
function mentionedPosition(message: string, positions: Positions): Position | undefined {
  for (const [word] of message.matchAll(/\b[a-z]+[A-Z][A-Za-z.]*\b/g)) {
    const at = positions.get(word);
    if (at !== undefined) return at;
  }
  return undefined;
}
