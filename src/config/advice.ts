/**
 * Warnings about values that the kubelet accepts but the author probably did not intend: unknown values, addresses that are ignored,
 * relative paths, default eviction thresholds that are lost, eventRecordQPS: 0, which still limits. Never an error, since the kubelet
 * starts. Values that are often intended cause no warning.
 */
import { quote } from '../go/quote.js';
import { choicesOf, fieldsWithChoices } from './choices.js';
import { defaultOf, fieldAt, fields, isResolvedPath } from './fields.js';
import { isAddress } from './forecast/serving.js';
import { type Finding, getField, type KubeletConfig, type Minor } from './model.js';
import { nearest } from './suggest.js';

/** `document` as decoded, before defaults: only what somebody wrote is advised on. */
export function advise(document: KubeletConfig, minor: Minor): Finding[] {
  return [
    ...unknownValues(document, minor),
    ...badAddresses(document),
    ...relativePaths(document, minor),
    ...lostThresholds(document, minor),
    ...limitedEvents(document, minor),
  ];
}

const warning = (path: string, message: string): Finding => ({ severity: 'warning', source: 'relet', path, message });

/** Effect of a value that the kubelet does not know, where that is not an error. */
const effects: Record<string, string> = {
  cgroupDriver: 'every value but systemd counts as cgroupfs',
  cpuManagerPolicy: 'it counts as none',
};

function unknownValues(document: KubeletConfig, minor: Minor): Finding[] {
  return fieldsWithChoices.flatMap((field) =>
    valuesAt(document, field).flatMap(({ path, value }) => {
      const known = choicesOf(field, minor)!;
      if (typeof value !== 'string' || value === '' || known.includes(value)) return [];
      const meant = nearest(value, known);
      const advice = meant === undefined ? 'write one of them' : `did you mean ${quote(meant)}?`;
      const effect = Object.hasOwn(effects, field) ? effects[field] : 'validation accepts it all the same';
      return [warning(path, `${quote(value)} is not one of ${known.join(', ')}: ${effect}; ${advice}`)];
    }),
  );
}

/** The values of a field; each element for a field within a list, such as `registerWithTaints[].effect`. */
function valuesAt(document: KubeletConfig, field: string): { path: string; value: unknown }[] {
  const [list, rest] = field.split('[]');
  const value = getField(document, list!);
  if (rest === undefined) return [{ path: field, value }];
  return (Array.isArray(value) ? value : []).map((item, index) => ({
    path: `${list}[${index}]${rest}`,
    value: rest === '' ? item : getField(item as KubeletConfig, rest.slice(1)),
  }));
}

function badAddresses(document: KubeletConfig): Finding[] {
  const servers = valuesAt(document, 'clusterDNS[]').flatMap(({ path, value }) =>
    typeof value !== 'string' || isAddress(value)
      ? []
      : [
          warning(
            path,
            `${quote(value)} is not a valid IP address: the kubelet logs "Invalid clusterDNS IP" and does not give it to pods; write one such as 10.96.0.10`,
          ),
        ],
  );
  const healthz = getField(document, 'healthzBindAddress');
  // A name such as localhost is looked up; digits and dots are meant as an address.
  const isNumbers = typeof healthz === 'string' && /^[\d.]+$/.test(healthz) && !isAddress(healthz);
  if (!isNumbers) return servers;
  const message = `${quote(healthz)} is not a valid IP address: the kubelet runs without its health endpoint; write one such as 127.0.0.1`;
  return [...servers, warning('healthzBindAddress', message)];
}

/** Also on Windows. */
const isAbsolute = /^([/\\]|[A-Za-z]:[/\\])/;

/** The kubelet counts them from the directory of its config file, which may be meant; a dynamic config is in a directory of relet's. */
function relativePaths(document: KubeletConfig, minor: Minor): Finding[] {
  return fields.flatMap(({ path, isHostPath }): Finding[] => {
    const value = isHostPath ? getField(document, path) : undefined;
    if (typeof value !== 'string' || value === '' || isAbsolute.test(value)) return [];
    const from = isResolvedPath(path, minor)
      ? 'the kubelet counts it from the directory of its config file, which for a dynamic config is a directory of relet'
      : 'the kubelet counts it from its working directory';
    const message = `${quote(value)} is a relative path: ${from}; write an absolute path`;
    return [{ severity: 'note', source: 'relet', path, message }];
  });
}

/** Signals that cover a default that is not named: hosts with one file system have the same space in both. */
const covers: Record<string, string> = {
  'imagefs.available': 'nodefs.available',
  'imagefs.inodesFree': 'nodefs.inodesFree',
};

/** evictionHard replaces all default thresholds. If every threshold is 0% or 100%, which disables it, that is intended. */
function lostThresholds(document: KubeletConfig, minor: Minor): Finding[] {
  const given = document.evictionHard;
  if (typeof given !== 'object' || given === null || document.mergeDefaultEvictionSettings === true) return [];
  const isOn = (value: unknown) => value !== '0%' && value !== '100%';
  const defaults = Object.keys(defaultOf(fieldAt('evictionHard')!, minor) as object);
  const lost = defaults.filter((signal) => !Object.hasOwn(given, signal));
  const isMissed = lost.some((signal) => !Object.hasOwn(given, covers[signal] ?? ''));
  if (!isMissed || !Object.values(given).some(isOn)) return [];
  const others = `the default thresholds of ${lost.join(', ')} no longer apply`;
  const advice =
    minor >= (fieldAt('mergeDefaultEvictionSettings')?.first ?? Infinity)
      ? 'name them too, or set mergeDefaultEvictionSettings to true'
      : 'name them too';
  return [warning('evictionHard', `evictionHard replaces its default as a whole: ${others}; ${advice}`)];
}

/** The field is documented as having no limit at 0; until 1.36 the client behind it takes 0 for its own default. */
function limitedEvents(document: KubeletConfig, minor: Minor): Finding[] {
  if (document.eventRecordQPS !== 0 || minor >= 37) return [];
  const message =
    '0 means no limit only since 1.37: this kubelet creates at most 5 events a second with it; write a number, or remove it for the default';
  return [warning('eventRecordQPS', message)];
}
