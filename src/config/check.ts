/**
 * Checks one document completely, in the kubelet's order:
 *
 *   flags ─► their gates ─► decode ─► defaults ─► flags over it ─► validate ─► forecast ─► advice
 *
 * `verdict` and `message` are those of the first step that rejects the document, at which the kubelet exits. The later steps still run
 * on what could be decoded, so that one check returns all findings.
 */
import { advise } from './advice.js';
import { type Decoded, DecodeError, type DecodeOptions, decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { applyFlagsTo, type FlagError, flagAt, readCommandLine } from './flags.js';
import { Doubts } from './follow-ups.js';
import { forecast } from './forecast.js';
import { placeCertificate, resolvePaths } from './host-paths.js';
import { listed } from './listed.js';
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
  parentPath,
  type ValidationContext,
} from './model.js';
import { sameValue } from './same-value.js';
import { validate, validateCommandLine } from './validate.js';

export interface CheckOptions {
  minor: Minor;
  /** Patch release, for bugs that only some of a minor have. */
  patch?: number | undefined;
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
  /** The kubelet's error as it prints it, but for errors beyond the first 100 of a field, which are counted; '' when accepted. */
  message: string;
  /** relet's forecast for an accepted document; `fails` for any other. */
  startup: 'ok' | 'fails';
  /** Findings of all steps, by line. */
  findings: Finding[];
  /** Decoded, defaulted, overridden by the flags that relet knows, as on /configz; absent when it could not be decoded. */
  effective?: KubeletConfig;
}

/** Result of one step. An empty message: it rejects nothing. */
interface Step {
  verdict: CheckResult['verdict'];
  message: string;
  findings: Finding[];
  /** Paths without a value to rely on: later findings about them are left out. */
  doubtful: string[];
  /** The document is accepted, and the kubelet would still not start. */
  stops?: boolean;
}

export const check = (text: string, options: CheckOptions): CheckResult => withEffective(examine(text, options));

/** The result with the config that the kubelet would show. */
export function withEffective({ result, config, isRead, flags }: Examination): CheckResult {
  if (config === undefined || !isRead) return result;
  if (result.verdict === 'accepted') placeCertificate(config, flags.get('cert-dir')?.at(-1) ?? '/var/lib/kubelet/pki');
  return { ...result, effective: config };
}

/** Result of all steps, also if one of them rejects something. */
export interface Examination {
  result: CheckResult;
  /** As decoded, before defaults and flags; undefined if nothing could be decoded. */
  document?: KubeletConfig;
  /** After defaults and flags. */
  config?: KubeletConfig;
  /** Flags that this kubelet accepts. */
  flags: CommandLine;
  /** The document was decoded as a whole. Flags that are not known change nothing in it. */
  isRead: boolean;
  /** Fields of a whole config that relet does not know in this minor; a newer kubelet may. */
  unknown: readonly string[];
  /** For an overlay: the document that the kubelet is started with. */
  mergedText?: string;
  /** Place that sets a field or a key of a map: `maxPods`, `evictionHard[memory.available]`. Undefined if none does. */
  placeOf(path: string): Place | undefined;
}

/** As in a Finding. */
export type Place = Pick<Finding, 'file'> & Position;

export function examine(text: string, options: CheckOptions): Examination {
  const minor = knownMinor(options.minor);
  const file = options.file ?? 'kubelet.yaml';
  const { flags, errors } = readCommandLine(options.flags ?? [], minor);
  const commandLine = checkCommandLine(flags, errors, minor);
  const { decoded, step } = tryDecode(text, { minor, file, strict: options.lenient !== true });
  // A value that a flag pins cannot make the document unreadable, so both are in doubt only from here on.
  step.doubtful.push(...commandLine.doubtful);
  const steps = [{ ...commandLine, doubtful: [] }, step];
  const isRead = step.message === '';
  if (decoded === undefined)
    return { result: conclude(steps, new Map()), flags, isRead, unknown: [], placeOf: () => undefined };
  const { positions, config: document, unknown } = decoded;
  // A newer kubelet than relet knows is not a patch release of the newest known one.
  const patch = minor === options.minor ? options.patch : undefined;
  const context = { minor, patch, flags, ...(options.host && { host: options.host }) };
  const { config, steps: more } = checkDecoded(decoded, context, file);
  const placeOf = (path: string) => positions.get(path);
  return { result: conclude([...steps, ...more], positions), document, config, flags, isRead, unknown, placeOf };
}

function checkCommandLine(flags: CommandLine, errors: readonly FlagError[], minor: Minor): Step {
  const { message, findings, doubtful } = validateCommandLine(flags, { minor });
  const [first] = errors;
  const refused = first && (minor < 24 ? first.message : `failed to parse kubelet flag: ${first.message}`);
  return {
    verdict: 'validate-error',
    message: refused ?? message,
    findings: [
      ...errors.map(({ message, flag }): Finding => {
        return { severity: 'error', source: 'kubelet', path: flag === '' ? '' : `--${flag}`, message };
      }),
      ...findings,
    ],
    doubtful: [...errors.flatMap(({ flag }) => flagAt(flag, minor)?.field ?? []), ...doubtful],
  };
}

function tryDecode(text: string, options: Required<DecodeOptions>): { decoded: Decoded | undefined; step: Step } {
  const step: Step = { verdict: 'decode-error', message: '', findings: [], doubtful: [] };
  try {
    const decoded = decode(text, options);
    return { decoded, step: { ...step, findings: decoded.findings } };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { partial: decoded, findings } = error;
    return {
      decoded,
      step: {
        ...step,
        message: loadMessage(error.message, options.file, options.minor),
        findings: [...findings, ...(decoded?.findings ?? [])],
        doubtful: findings.map(({ path }) => path),
      },
    };
  }
}

function checkDecoded(decoded: Decoded, given: ValidationContext, file: string) {
  const { minor, flags } = given;
  const document = decoded.config;
  const defaulted = setDefaults(document, minor);
  resolvePaths(defaulted, file, minor);
  const config = applyFlagsTo(defaulted, flags, minor);
  const context = { ...given, document };
  const { message, findings, doubtful } = validate(config, context);
  const forecasts = forecast(config, context);
  const stops = forecasts.filter(({ severity }) => severity === 'error');
  const overruled = pinned(document, config, flags, minor);
  const isPinned = (path: string) => overruled.some((finding) => path.replace(/\[.*/, '') === finding.path);
  const nothing: Step = { verdict: 'accepted', message: '', findings: [], doubtful: [] };
  const steps: Step[] = [
    { ...nothing, findings: overruled },
    { verdict: 'validate-error', message, findings, doubtful },
    { ...nothing, findings: forecasts, doubtful: stops.map(({ path }) => path), stops: stops.length > 0 },
    { ...nothing, findings: advise(document, minor).filter(({ path }) => !isPinned(path)) },
  ];
  return { config, steps };
}

/** The kubelet's answer is the first refusal; the findings are those of all steps, by line. */
function conclude(steps: readonly Step[], positions: Positions): CheckResult {
  const refusal = steps.find(({ message }) => message !== '');
  const doubts = new Doubts();
  const findings: Finding[] = [];
  for (const step of steps) {
    // One by one: a document may have more findings than a call takes arguments.
    for (const finding of step.findings) if (!doubts.cover(finding)) findings.push(finding);
    for (const path of step.doubtful) doubts.add(path);
  }
  const fails = refusal !== undefined || steps.some(({ stops }) => stops);
  return {
    verdict: refusal?.verdict ?? 'accepted',
    message: refusal?.message ?? '',
    startup: fails ? 'fails' : 'ok',
    findings: place(listed(findings), positions).sort(byPlace),
  };
}

/** Findings without a place, such as that of a flag, come first. */
const byPlace = (a: Finding, b: Finding): number => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);

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
  for (let path = from; path !== ''; path = parentPath(path)) {
    const at = positions.get(path);
    // All gates together are not where one of them is.
    if (at !== undefined && !(path === 'featureGates' && from !== path)) return at;
  }
  return undefined;
}

/**
 * A default may be what is wrong with a field the document does set: the low threshold, 80, above a high one of 70. So may a gate that
 * the document does not set.
 */
function mentionedPosition(message: string, positions: Positions): Position | undefined {
  for (const [word] of message.matchAll(/\b[A-Za-z]+[A-Z][A-Za-z.]*\b/g)) {
    const at = positions.get(word) ?? positions.get(`featureGates[${word}]`);
    if (at !== undefined) return at;
  }
  return undefined;
}
