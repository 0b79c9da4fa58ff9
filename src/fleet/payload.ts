/**
 * The content of a ConfigMap for a node: a whole KubeletConfiguration, or an overlay over its local config. Interprets it, and edits it
 * for `relet set` and `relet convert`. No payload means the local config. Pure.
 */
import { decode } from '../config/decode.js';
import { setDefaults } from '../config/defaults.js';
import { diff } from '../config/diff.js';
import { encode } from '../config/encode.js';
import { formatPath, isWithin, leavesOf } from '../config/field-path.js';
import { hasOwnCertificate } from '../config/host-paths.js';
import { mergeOverlay } from '../config/merge.js';
import { getField, type KubeletConfig, type Minor, newestMinor } from '../config/model.js';
import { decodeOverlay, encodeOverlay, isOverlay, type Overlay, overlayFrom } from '../config/overlay.js';
import { type FieldSetting, FieldWordError, findField, parseSetting, withSetting } from '../config/set-field.js';
import { shapeAt, shapeOf } from '../config/shape.js';
import { unknownKey } from '../config/unset-key.js';
import { withoutDefaults } from '../config/without-defaults.js';
import { isObject, jsonText } from '../json.js';
import { asConfigText, readWritten } from './config-text.js';

/** The local config of a node as merge.ts takes it; it is one document already, with absolute paths. */
export const localFile = (config: KubeletConfig) => ({ path: '/local', text: encode(config) });

/** An overlay that changes nothing. */
export const localOnly = encodeOverlay({ config: {}, unset: [] });

/**
 * Document that the kubelet is started with, as written. Undefined if that takes a local config and it is not known. Throws DecodeError
 * where a kubelet of that minor cannot read it.
 */
export function documentOf(
  text: string | undefined,
  local: KubeletConfig | undefined,
  minor: Minor,
): KubeletConfig | undefined {
  if (text === undefined) return local;
  if (!isOverlay(text)) return readWritten(text, minor);
  return local && mergeOverlay({ minor, local: [localFile(local)], overlay: text }).document;
}

/** Whether a node would run the same with either; an overlay and a whole config are not the same. */
export function sameMeaning(a: string | undefined, b: string | undefined, minor: Minor): boolean {
  if (a === b || a === undefined || b === undefined) return a === b;
  if (isOverlay(a) !== isOverlay(b)) return false;
  if (isOverlay(a)) return canonicalText(a, minor) === canonicalText(b, minor);
  const read = (text: string) => decode(text, { minor, strict: false }).config;
  return diff(read(a), read(b), minor).length === 0;
}

const canonicalText = (text: string, minor: Minor): string => encodeOverlay(readOverlay(text, minor));

export const readOverlay = (text: string, minor: Minor): Overlay =>
  decodeOverlay(text, { minor, strict: false }).overlay;

/** `sets maxPods: 150, evictionHard[memory.available]: 200Mi; unsets clusterDomain`. */
export function overlaySentence({ config, unset }: Overlay): string {
  const sets = leavesOf(config, shapeOf(newestMinor)).map((parts) => {
    const value = parts.reduce<unknown>((inner, part) => (inner as KubeletConfig)[part], config);
    return `${formatPath(parts, newestMinor)}: ${typeof value === 'string' && !/^[{[]/.test(value) ? value : jsonText(value)}`;
  });
  const parts = [
    ...(sets.length > 0 ? [`sets ${sets.join(', ')}`] : []),
    ...(unset.length > 0 ? [`unsets ${unset.join(', ')}`] : []),
  ];
  return parts.join('; ') || 'sets nothing';
}

/** A field and its new value. Without a value, the field is removed, so that the local config counts. */
export interface FieldStatement extends FieldSetting {
  /** The kubelet's default, also where the local config sets the field. */
  unset?: true;
}

/** `maxPods=150` and `maxPods-` as words, and the fields of --unset; each field once. Throws FieldWordError. */
export function parseStatements(words: readonly string[], unset: readonly string[], minor: Minor): FieldStatement[] {
  const given = [
    ...words.map((word) => ({ word, statement: parseSetting(word, minor) })),
    ...unset.map((name) => ({ word: `--unset ${name}`, statement: unsetStatement(name, minor) })),
  ];
  rejectTwice(given.map(({ word, statement }) => ({ word, name: formatPath(statement.path, minor) })));
  return given.map(({ statement }) => statement);
}

function unsetStatement(name: string, minor: Minor): FieldStatement {
  const { path } = findField(name, minor);
  const wrong = unknownKey(path, minor);
  if (wrong !== undefined) throw new FieldWordError(`--unset ${name}: ${wrong}`);
  return { path, value: undefined, unset: true };
}

/** Only one of two words for a field, or for a map and a key of it, would count, by their order. */
function rejectTwice(given: readonly { word: string; name: string }[]): void {
  for (const [index, second] of given.entries()) {
    const first = given.slice(0, index).find(({ name }) => isWithin(name, second.name) || isWithin(second.name, name));
    if (first === undefined) continue;
    const inner = isWithin(first.name, second.name) ? first.name : second.name;
    throw new FieldWordError(`${inner} is given twice (${first.word}, ${second.word}); keep one of them`);
  }
}

/**
 * The payload with these statements made: an overlay where the node has one or none, a whole config where it has that. Undefined
 * where nothing is left to say, which is the local config. Throws FieldWordError, DecodeError.
 */
export function withStatements(
  text: string | undefined,
  statements: readonly FieldStatement[],
  minor: Minor,
): string | undefined {
  if (text !== undefined && !isOverlay(text)) return wholeWith(text, statements, minor);
  const start = text === undefined ? { config: {}, unset: [] } : readOverlay(text, minor);
  const overlay = statements.reduce((before, statement) => overlayWith(before, statement, minor), start);
  return isEmpty(overlay) ? undefined : encodeOverlay(overlay);
}

/** An overlay that changes nothing: the node runs its local config. */
export const hasNoFields = (text: string, minor: Minor): boolean =>
  isOverlay(text) && isEmpty(readOverlay(text, minor));

const isEmpty = ({ config, unset }: Overlay): boolean => Object.keys(config).length === 0 && unset.length === 0;

function overlayWith(
  { config, unset }: Overlay,
  { path, value, unset: isUnset }: FieldStatement,
  minor: Minor,
): Overlay {
  const name = formatPath(path, minor);
  const above = unset.find((other) => other !== name && isWithin(name, other));
  const others = unset.filter((other) => !isWithin(other, name));
  if (value === undefined) {
    const added = isUnset && above === undefined ? [name] : [];
    return { config: without(config, path), unset: [...others, ...added] };
  }
  if (above !== undefined)
    throw new FieldWordError(
      `${name} cannot be set while the overlay unsets all of ${above}; set ${above} as a whole, or take that back first with ${above}-`,
    );
  return { config: withSetting(config, { path, value }), unset: others };
}

/** Structs and maps that become empty go with their last field. */
function without(config: KubeletConfig, [name, ...rest]: string[]): KubeletConfig {
  const { [name!]: child, ...others } = config;
  if (rest.length === 0 || child === undefined) return others;
  if (!isObject(child) || Object.keys(child).length === 0) return config;
  const inner = without(child, rest);
  return Object.keys(inner).length === 0 ? others : { ...config, [name!]: inner };
}

function wholeWith(text: string, statements: readonly FieldStatement[], minor: Minor): string {
  const changed = statements.reduce(
    (before, { path, value }) => withSetting(withWholeMap(before, path, minor), { path, value }),
    readWritten(text, minor),
  );
  return asConfigText(changed, minor);
}

/** A map that a whole config leaves to its default is written out before one of its keys is set: the kubelet does not merge. */
function withWholeMap(document: KubeletConfig, path: string[], minor: Minor): KubeletConfig {
  const map = path.slice(0, -1);
  if (shapeAt(map, minor)?.kind !== 'map' || getField(document, map.join('.')) !== undefined) return document;
  const { config } = decode(asConfigText(document, minor), { minor, strict: false });
  const value = getField(setDefaults(config, minor), map.join('.')) ?? undefined;
  return value === undefined ? document : withSetting(document, { path: map, value });
}

/** A whole config as an overlay that means the same on a node with that local config. Undefined if that is the local config. */
export function convertToOverlay(
  text: string,
  local: KubeletConfig,
  { minor, pinned }: { minor: Minor; pinned: readonly string[] },
): string | undefined {
  const running = withLocalValues(readWritten(text, minor), local, pinned);
  const overlay = overlayFrom({ running, local: [localFile(local)], minor });
  return isEmpty(overlay) ? undefined : encodeOverlay(overlay);
}

/** The running config as it may be written in the local file: without defaults, flags and values that the kubelet filled in. */
export function writtenLocally(running: KubeletConfig, pinned: readonly string[], minor: Minor): KubeletConfig {
  return withoutDefaults(withLocalValues(running, {}, pinned), minor);
}

/**
 * The config with the values of `local` where its own are of one host only: set by flags, made by the kubelet, or given by a cloud.
 * Gates of a flag are merged into those of the file, and the API does not show which are which: they stay.
 */
export function withLocalValues(config: KubeletConfig, local: KubeletConfig, pinned: readonly string[]): KubeletConfig {
  const certificate = hasOwnCertificate(config) ? ['tlsCertFile', 'tlsPrivateKeyFile'] : [];
  return ['providerID', ...certificate, ...pinned.filter((path) => path !== 'featureGates')]
    .filter((path) => getField(config, path) !== undefined)
    .reduce((kept, path) => withSetting(kept, { path: path.split('.'), value: getField(local, path) }), config);
}
