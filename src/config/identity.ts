/** Reads apiVersion and kind of a document, and decides whether the kubelet accepts it as its config. */
import { quote } from '../go/quote.js';
import type { Value } from '../go/yaml/value.js';
import { header } from './header.js';
import type { Minor, Position } from './model.js';
import { nearest } from './suggest.js';

export interface Identity {
  group: string;
  version: string;
  kind: string;
}

export interface IdentityError {
  /** In the kubelet's words. */
  message: string;
  at: Position;
  remedy?: string;
  /** The object was decoded, and is another one: the message stands alone. */
  isOther?: boolean;
  /** The kubelet would read it. */
  isOurs?: boolean;
}

export interface Identified {
  identity: Identity;
  /** The kubelet reports the first. */
  errors: IdentityError[];
}

const kubeletGroup = 'kubelet.config.k8s.io';

/** apiVersion and kind, in any case as the kubelet allows for these two alone. Where one is missing, a KubeletConfiguration is assumed. */
export function identify(document: Value, text: string, minor: Minor): Identified {
  const { errors, apiVersion, kind, at, versionAt } = readNames(document);
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  if (parts.length > 2)
    errors.push({ message: `unexpected GroupVersion string: ${apiVersion}`, at, remedy: rightVersion });
  const isUnset = parts.length > 2 || parts.at(-1) === '';
  const [group, version] = isUnset ? header.apiVersion.split('/') : parts.length === 1 ? ['', parts[0]] : parts;
  const missing = (name: string) => `Object '${name}' is missing in '${text}'`;
  if (errors.length === 0 || parts.length > 2) {
    if (kind === '') errors.push({ message: missing('Kind'), at: document.at, remedy: rightKind });
    if (isUnset && parts.length <= 2)
      errors.push({ message: missing('apiVersion'), at: document.at, remedy: rightVersion });
  }
  const identity = { group: group!, version: version!, kind: kind || header.kind };
  const other = isInternal(identity) ? internalError(versionAt) : otherError(identity, minor, at);
  return { identity, errors: other === undefined ? errors : [...errors, other] };
}

const rightKind = `write kind: ${header.kind}`;
const rightVersion = `write apiVersion: ${header.apiVersion}`;

interface Names {
  apiVersion: string;
  kind: string;
  at: Position;
  versionAt: Position;
  errors: IdentityError[];
}

function readNames(document: Value): Names {
  const names: Names = { apiVersion: '', kind: '', at: document.at, versionAt: document.at, errors: [] };
  const wrong = (value: Value, target: string, remedy?: string) =>
    names.errors.push({
      message: `couldn't get version/kind; json parse error: json: cannot unmarshal ${value.kind} into Go ${target}`,
      at: value.at,
      ...(remedy && { remedy }),
    });
  if (document.kind !== 'object' && document.kind !== 'null')
    wrong(
      document,
      'value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    );
  for (const { key, value } of document.kind === 'object' ? document.entries : []) {
    const folded = key.toLowerCase().replace('\u212a', 'k').replace('\u017f', 's');
    const name = folded === 'kind' ? 'kind' : folded === 'apiversion' ? 'apiVersion' : undefined;
    if (name === undefined || value.kind === 'null') continue;
    if (value.kind === 'string') {
      names[name] = value.value;
      names.at = value.at;
      if (name === 'apiVersion') names.versionAt = value.at;
    } else wrong(value, `struct field .${name} of type string`, name === 'kind' ? rightKind : rightVersion);
  }
  return names;
}

/** Kinds of the kubelet's scheme that decode, and are then the wrong ones: group version, kind, first minor. */
const otherKinds: readonly (readonly [version: string, kind: string, first: Minor])[] = [
  ['v1beta1', 'SerializedNodeConfigSource', 11],
  ['v1alpha1', 'CredentialProviderConfig', 20],
  ['v1beta1', 'CredentialProviderConfig', 24],
  ['v1', 'CredentialProviderConfig', 26],
  ['v1alpha1', 'ImagePullIntent', 33],
  ['v1alpha1', 'ImagePulledRecord', 33],
];

/** Dynamic Kubelet Configuration of 1.8 and 1.9; relet converts it. */
export const isAlpha = ({ group, version, kind }: Identity): boolean =>
  group === 'kubeletconfig' && version === 'v1alpha1' && kind === header.kind;

const isInternal = ({ group, version }: Identity): boolean => group === kubeletGroup && version === '__internal';

/** The kubelet reads it, by the names of the fields of its Go type. */
const internalError = (at: Position): IdentityError => ({
  message: `relet does not read the kubelet's internal version, which has other names of fields and no defaults`,
  at,
  remedy: rightVersion,
  isOurs: true,
});

function otherError(identity: Identity, minor: Minor, at: Position): IdentityError | undefined {
  const { group, version, kind } = identity;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  if (isAlpha(identity) || (apiVersion === header.apiVersion && kind === header.kind)) return undefined;
  if (group === kubeletGroup && otherKinds.some(([v, k, first]) => v === version && k === kind && first <= minor)) {
    const message = `failed to cast object to KubeletConfiguration, unexpected type: ${apiVersion}, Kind=${kind}`;
    return { message, at, isOther: true };
  }
  // The name of the scheme depends on the build.
  const scheme = minor >= 32 ? 'pkg/kubelet/apis/config/scheme/scheme.go:33' : 'pkg/runtime/scheme.go:100';
  const message = `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme ${quote(scheme)}`;
  if (!isMeant(identity)) return { message, at };
  return { message, at, remedy: kind === header.kind ? rightVersion : rightKind };
}

/** Whether it is a KubeletConfiguration with a slip of the pen, and not something else. */
export function isMeant({ group, kind }: Identity): boolean {
  return group === kubeletGroup && nearest(kind, [header.kind]) !== undefined;
}
