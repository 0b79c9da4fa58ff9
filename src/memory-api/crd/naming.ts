/** Checks whether the names of a CRD are free, and sets the conditions that report it. */
import type { KubeObject } from '../../api/object.js';
import type { Registry } from '../registry.js';
import { type CrdCondition, type CrdStatus, crdSpec, crdStatus, type Names } from './definition.js';

/** The status of a definition after its names were checked: free names are accepted at once. */
export function namedStatus(crd: KubeObject, registry: Registry, now: string): CrdStatus {
  const { names } = crdSpec(crd);
  const clash = clashOf(crd, registry);
  const isAccepted = clash === undefined;
  const before = crdStatus(crd);
  const wasEstablished = (before.conditions ?? []).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
  const condition = (type: string, status: boolean, reason: string, message: string): CrdCondition => {
    const known = (before.conditions ?? []).find((entry) => entry.type === type);
    const next = { type, status: status ? 'True' : 'False', reason, message };
    return { ...next, lastTransitionTime: known?.status === next.status ? known.lastTransitionTime : now };
  };
  return {
    conditions: [
      isAccepted
        ? condition('NamesAccepted', true, 'NoConflicts', 'no conflicts found')
        : condition('NamesAccepted', false, clash.reason, clash.message),
      isAccepted || wasEstablished
        ? condition('Established', true, 'InitialNamesAccepted', 'the initial names have been accepted')
        : condition('Established', false, 'NotAccepted', 'not all names are accepted'),
      ...(before.conditions ?? []).filter(({ type }) => type === 'Terminating'),
    ],
    acceptedNames: isAccepted ? structuredClone(names) : (before.acceptedNames ?? { kind: '', plural: '' }),
    storedVersions: before.storedVersions ?? null,
  };
}

interface Clash {
  reason: string;
  message: string;
}

/** Names must be free in the group; kinds and resource names are checked separately. */
function clashOf(crd: KubeObject, registry: Registry): Clash | undefined {
  const { group, names } = crdSpec(crd);
  const others = registry.all().filter((resource) => resource.group === group && resource.plural !== names.plural);
  const resourceNames = new Set(
    others.flatMap((other) => [other.plural, other.names.singular, ...other.names.shortNames]),
  );
  const kinds = new Set(others.flatMap((other) => [other.kind, other.names.listKind]));
  const inUse = (reason: string, name: string | undefined, taken: Set<string>): Clash | undefined =>
    name !== undefined && taken.has(name) ? { reason, message: `"${name}" is already in use` } : undefined;
  return (
    inUse('PluralConflict', names.plural, resourceNames) ??
    inUse('SingularConflict', names.singular, resourceNames) ??
    firstOf(names, (name) => inUse('ShortNamesConflict', name, resourceNames)) ??
    inUse('KindConflict', names.kind, kinds) ??
    inUse('ListKindConflict', names.listKind, kinds)
  );
}

function firstOf({ shortNames = [] }: Names, check: (name: string) => Clash | undefined): Clash | undefined {
  return shortNames.map(check).find((clash) => clash !== undefined);
}
