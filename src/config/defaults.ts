/**
 * Applies the kubelet's defaults of a minor: the result is what /configz shows on Linux. A pointer, list or map is defaulted if it is
 * nil, anything else if it is zero: `maxPods: 0` means 110, but `healthzPort: 0` means 0.
 */
import { complete } from './decode-fields.js';
import { defaultOf, type Field, fieldAt, fieldsOf } from './fields.js';
import { isGateOn } from './gates.js';
import { type KubeletConfig, knownMinor, type Minor } from './model.js';
import { shapeOf } from './shape.js';

/** A new object with every field of that minor, which shares maps and lists with the argument. */
export function setDefaults(config: KubeletConfig, minor: Minor): KubeletConfig {
  const known = knownMinor(minor);
  const whole = complete(config, shapeOf(known));
  // Both depend on whether a field was set, so they run before that field is defaulted.
  setReportFrequency(whole, known);
  setSerializeImagePulls(whole);
  for (const field of defaultedFields(known)) {
    const parts = field.path.split('.');
    const name = parts.pop()!;
    const parent = parts.reduce((object, part) => object[part] as KubeletConfig, whole);
    if (isUnset(parent[name], field, known) && isWanted(field, whole, known)) parent[name] = defaultOf(field, known);
  }
  mergeEvictionDefaults(whole, known);
  // No default, but the kubelet holds it as a plain bool, so that /configz shows false.
  if (whole.enableSystemLogQuery === null) whole.enableSystemLogQuery = false;
  if (known >= 14 && Number(whole.podPidsLimit) < 0) whole.podPidsLimit = -1;
  return whole;
}

const cache = new Map<Minor, Field[]>();

function defaultedFields(minor: Minor): Field[] {
  let fields = cache.get(minor);
  if (fields === undefined) {
    fields = fieldsOf(minor).filter((field) => field.defaults.length > 0);
    cache.set(minor, fields);
  }
  return fields;
}

function isUnset(value: unknown, field: Field, minor: Minor): boolean {
  if (value === null || value === undefined) return true;
  if (field.pointer && !(field.path === 'resolvConf' && minor < 23)) return false;
  return field.goType === 'Duration' ? value === '0s' || value === 0 : value === '' || value === 0 || value === false;
}

/** Two defaults stand behind a gate, as the document's own featureGates set it. */
function isWanted(field: Field, config: KubeletConfig, minor: Minor): boolean {
  const gate = gatedDefaults[field.path];
  return gate === undefined || isGateOn(gate, (config.featureGates ?? {}) as Record<string, boolean>, minor);
}

const gatedDefaults: Record<string, string> = {
  'crashLoopBackOff.maxContainerRestartPeriod': 'KubeletCrashLoopBackOffMax',
  imagePullCredentialsVerificationPolicy: 'KubeletEnsureSecretPulledImages',
};

/** A config that sets only nodeStatusUpdateFrequency, from the time when there was no other, keeps reporting that often. */
function setReportFrequency(config: KubeletConfig, minor: Minor): void {
  if (minor >= 13 && config.nodeStatusReportFrequency === '0s' && config.nodeStatusUpdateFrequency !== '0s')
    config.nodeStatusReportFrequency = config.nodeStatusUpdateFrequency;
}

function setSerializeImagePulls(config: KubeletConfig): void {
  const parallel = config.maxParallelImagePulls;
  if (config.serializeImagePulls === null && typeof parallel === 'number' && parallel >= 2)
    config.serializeImagePulls = false;
}

function mergeEvictionDefaults(config: KubeletConfig, minor: Minor): void {
  if (config.mergeDefaultEvictionSettings !== true) return;
  const defaults = defaultOf(fieldAt('evictionHard')!, minor) as KubeletConfig;
  config.evictionHard = { ...defaults, ...(config.evictionHard as KubeletConfig) };
}
