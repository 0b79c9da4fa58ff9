/**
 * The effective config of a kubelet as one document: every field of its version, with where each value comes from. Built from the
 * report of an agent, from the answer of /configz, or from files; nodes with equal documents share one. Pure.
 *
 *   report, files   flag --max-pods │ overlay NS/NAME │ config NS/NAME │ drop-in PATH │ file PATH │ default
 *   /configz        default │ set        the kubelet shows values, not who set them; flags without a field stay unknown
 */
import { createHash } from 'node:crypto';
import { hiddenHeader } from '../api/local-config.js';
import type { KubeletFlag } from '../api/node-config.js';
import { decode } from '../config/decode.js';
import { setDefaults } from '../config/defaults.js';
import { applyFlagsTo, flagAt, readCommandLine } from '../config/flags.js';
import { hasOwnCertificate, placeCertificate } from '../config/host-paths.js';
import { type LocalFile, mergeLocal, mergeOverlay } from '../config/merge.js';
import { type CommandLine, getField, type KubeletConfig, knownMinor, type Minor } from '../config/model.js';
import { isOverlay } from '../config/overlay.js';
import { sameValue } from '../config/same-value.js';
import { type Shape, type StructShape, shapeOf } from '../config/shape.js';
import { isObject, jsonText } from '../json.js';
import { asConfigText, readConfigz } from './config-text.js';

export interface EffectiveDocument {
  /** Identifies the content: equal ids, equal documents. */
  id: string;
  minor: Minor;
  source: 'agent' | 'configz' | 'file';
  /** Every field of the minor, as on /configz, without what each node has for itself. */
  config: KubeletConfig;
  /** By field, `maxPods` or `authentication.anonymous.enabled`; the default of the version where a field is missing. */
  origins: Record<string, string>;
  /** Names of the flags of the kubelet, sorted; undefined if they are not known. */
  flags: string[] | undefined;
  /** Fields that a flag sets to a value that is not reported. */
  unknown: string[];
}

/** Values of one node alone; they are not in its document. */
export type Own = Record<string, unknown>;

export interface ReadDocument {
  document: EffectiveDocument;
  own: Own;
}

export interface Reported {
  minor: Minor;
  files: readonly LocalFile[];
  flags: readonly KubeletFlag[] | undefined;
  /** The payload that is active; undefined: the local config. */
  active: { text: string; name: string } | undefined;
}

/** A value that differs on every node of a pool would make every document its own. */
export const ownFields: readonly string[] = ['providerID'];

const certificateFields = ['tlsCertFile', 'tlsPrivateKeyFile'];
const madeByKubelet = 'kubelet';

/** Throws DecodeError where a kubelet of that minor cannot read it. */
export function documentFromReport(
  { minor, files, flags, active }: Reported,
  source: 'agent' | 'file' = 'agent',
): ReadDocument {
  const known = knownMinor(minor);
  const { config: written, origin } = writtenConfig({ minor: known, files, active });
  const args = (flags ?? []).map(({ name, value }) => ({ name, value, field: flagAt(name, known)?.field }));
  const shown = args.flatMap(({ name, value }) => (value === undefined ? [] : [`--${name}=${value}`]));
  const commandLine = readCommandLine(shown, known).flags;
  const config = applyFlagsTo(setDefaults(written, known), commandLine, known);
  const hidden = args.filter(({ value }) => value === undefined);
  const origins: Record<string, string> = {};
  for (const { path } of leafFields(known)) {
    const found = origin(path);
    if (found !== undefined) origins[path] = found;
  }
  const kept = keepsGates(written, commandLine) ? origins.featureGates : undefined;
  for (const { name, field } of args) if (field !== undefined) origins[field] = `flag --${name}`;
  if (kept !== undefined) origins.featureGates = `${kept}, flag --feature-gates`;
  const unknown = hidden.flatMap(({ field }) => field ?? []);
  if (source === 'agent' && hasHiddenHeader(config)) unknown.push('staticPodURLHeader');
  const before = config.tlsCertFile;
  placeCertificate(config, commandLine.get('cert-dir')?.at(-1) ?? '/var/lib/kubelet/pki');
  if (config.tlsCertFile !== before) {
    for (const field of certificateFields) origins[field] = madeByKubelet;
    if (hidden.some(({ name }) => name === 'cert-dir')) unknown.push(...certificateFields);
  }
  const names = flags && [...new Set(flags.map(({ name }) => name))].sort();
  const own = takeOwn(config);
  return { document: withId({ minor: known, source, config, origins, flags: names, unknown: unknown.sort() }), own };
}

/** Every other flag replaces its field; gates are merged, so those that no flag names stay what the files set. */
function keepsGates({ featureGates }: KubeletConfig, flags: CommandLine): boolean {
  const named = flags
    .get('feature-gates')
    ?.flatMap((value) => value.split(',').map((gate) => gate.split('=')[0]!.trim()));
  return (
    named !== undefined && isObject(featureGates) && Object.keys(featureGates).some((gate) => !named.includes(gate))
  );
}

const hasHiddenHeader = ({ staticPodURLHeader: headers }: KubeletConfig): boolean =>
  isObject(headers) && Object.values(headers).some((values) => Array.isArray(values) && values[0] === hiddenHeader);

function writtenConfig({ minor, files, active }: Pick<Reported, 'minor' | 'files' | 'active'>) {
  const dropIns = new Set(files.filter(({ dropIn }, at) => at > 0 || dropIn).map(({ path }) => path));
  const place = (file: string | undefined): string => `${dropIns.has(file ?? '') ? 'drop-in' : 'file'} ${file}`;
  if (active !== undefined && !isOverlay(active.text)) {
    const { config, positions } = decode(active.text, { minor, strict: false });
    const paths = [...positions.keys()];
    const isSet = (path: string) => positions.has(path) || paths.some((one) => one.startsWith(`${path}[`));
    return { config, origin: (path: string) => (isSet(path) ? `config ${active.name}` : undefined) };
  }
  const local = mergeLocal({ minor, local: files });
  const merged = active && mergeOverlay({ minor, local: files, overlay: active.text, strict: false });
  const config = withoutHeader(merged?.document ?? local.config);
  const originOf = merged?.origin ?? local.origin;
  const textOf = (path: string): string | undefined => {
    const found = originOf(path);
    if (found === undefined || found.in === 'default') return undefined;
    return found.in === 'overlay' ? `overlay ${active?.name}` : place(found.file);
  };
  return {
    config,
    origin(path: string): string | undefined {
      const value = getField(config, path);
      const keys = isObject(value) ? Object.keys(value).map((key) => textOf(`${path}[${key}]`)) : [];
      const all = new Set([textOf(path), ...keys].filter((text) => text !== undefined));
      // A kubelet without --config keeps what its flags meant before there was a file: nobody wrote these values.
      return all.size > 0 ? [...all].join(', ') : value !== undefined && files.length === 0 ? madeByKubelet : undefined;
    },
  };
}

function withoutHeader({ apiVersion: _, kind: __, ...config }: KubeletConfig): KubeletConfig {
  return config;
}

/** Throws if the answer is not an answer of configz, or this minor cannot read it. */
export function documentFromConfigz(answer: string, minor: Minor): ReadDocument {
  const known = knownMinor(minor);
  const text = asConfigText(readConfigz(answer, known), known);
  const config = setDefaults(decode(text, { minor: known, strict: false }).config, known);
  const own = takeOwn(config);
  return { document: compared(config, known, 'configz'), own };
}

/** Takes the values of one node alone out of a config. */
function takeOwn(config: KubeletConfig): Own {
  const own: Own = {};
  for (const field of ownFields)
    if (config[field] !== undefined && config[field] !== '') {
      own[field] = config[field];
      config[field] = '';
    }
  return own;
}

function compared(config: KubeletConfig, minor: Minor, source: 'configz' | 'file'): EffectiveDocument {
  const usual = setDefaults({}, minor);
  const origins: Record<string, string> = {};
  for (const { path, shape } of leafFields(minor))
    if (!sameMeaning(getField(config, path), getField(usual, path), path, shape)) origins[path] = 'set';
  if (hasOwnCertificate(config)) for (const field of certificateFields) origins[field] = madeByKubelet;
  return withId({ minor, source, config, origins, flags: undefined, unknown: [] });
}

/** One KubeletConfiguration, as a kubelet with these flags would run it; without them, what flags set stays unknown. */
export function documentFromFile(
  { path, text }: LocalFile,
  { minor, flags }: { minor: Minor; flags: readonly KubeletFlag[] | undefined },
): EffectiveDocument {
  const directory = path.startsWith('/') ? undefined : '/';
  const file = { path, text, ...(directory !== undefined && { directory }) };
  return documentFromReport({ minor, files: [file], flags, active: undefined }, 'file').document;
}

export interface LeafField {
  path: string;
  shape: Shape;
}

const cache = new Map<Minor, LeafField[]>();

/** The fields that hold values: scalars, lists and maps as a whole. */
export function leafFields(minor: Minor): LeafField[] {
  const known = knownMinor(minor);
  if (!cache.has(known)) cache.set(known, leavesIn(shapeOf(known), ''));
  return cache.get(known)!;
}

function leavesIn({ fields }: StructShape, parent: string): LeafField[] {
  return [...fields].flatMap(([name, shape]) => {
    const path = parent === '' ? name : `${parent}.${name}`;
    return shape.kind === 'struct' ? leavesIn(shape, path) : [{ path, shape }];
  });
}

function sameMeaning(a: unknown, b: unknown, path: string, { kind }: Shape): boolean {
  if (kind === 'scalar') return sameValue(a ?? null, b ?? null, path);
  return valueText(a, kind) === valueText(b, kind);
}

/** One text for each meaning: keys sorted, a missing list or map like an empty one. */
export function valueText(value: unknown, kind: Shape['kind']): string {
  if (value === null || value === undefined) return kind === 'list' ? '[]' : kind === 'map' ? '{}' : '<none>';
  return typeof value === 'string' && value !== '' ? value : jsonText(sortedKeys(value));
}

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortedKeys(value[key])]),
  );
}

export function withId(document: Omit<EffectiveDocument, 'id'>): EffectiveDocument {
  const { minor, source, config, origins, flags, unknown } = document;
  const text = jsonText(sortedKeys([minor, source, config, origins, flags ?? null, unknown]));
  const id = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return { id, minor, source, config, origins, flags, unknown };
}
