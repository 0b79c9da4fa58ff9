/** Record under DIR/meta of the driver's own files on the host, so that it notices what others changed. */
import { type ExactRef, isExactRef } from '../../../api/config-ref.js';
import { isObject } from '../../../json.js';
import { defineRecord } from '../../state/json-record.js';
import type { Notice, StartedConfig } from '../driver.js';
import { type HostView, isMasked, isStale } from './next-step.js';
import { dropIns, local } from './unit-text.js';

export interface UnitRecord {
  /** `local` or digest of the config in each drop-in that relet wrote last; absent where it removed it. */
  trial?: string;
  good?: string;
  /** The boot in which it was written. */
  bootId: string;
  /** The host's command line has --config-dir. */
  hasConfigDir: boolean;
  /** Config of each digest. */
  configs: Record<string, { source: ExactRef; file: string }>;
}

export const unitRecord = defineRecord('unit', isUnitRecord);

export function startedConfig({ configs }: UnitRecord, config: string): StartedConfig | undefined {
  return config === local ? { source: undefined, file: undefined } : configs[config];
}

export interface Seen {
  record: UnitRecord;
  bootId: string;
  /** The unit that the fallback needs is in /etc. */
  hasFallbackUnit: boolean;
  /** Marks of the script. */
  before: string | undefined;
  fellBack: string | undefined;
  /** Changes of a rollback to the limits that the kubelet had set: `put-back FILE NOW BEFORE`, or `left` if that failed. */
  limits?: string | undefined;
}

/** Present changes of others to the unit. Pure. */
export function noticesOf(view: HostView, seen: Seen): Notice[] {
  const { unit, own } = view;
  const { record, bootId, fellBack, limits = '' } = seen;
  const notices: Notice[] = [];
  if (isMasked(unit)) notices.push({ reason: 'UnitMasked', message: `the unit is ${unit.unitFileState || 'masked'}` });
  const removed = removedDropIn(view, seen);
  if (removed) notices.push({ reason: 'DropInRemoved', message: `${dropIns[removed]} is gone from the host` });
  const isLost = record.good !== undefined && own.good === undefined && removed === undefined;
  if (isLost && record.bootId !== bootId)
    notices.push({ reason: 'NextStartNotKept', message: `/etc lost ${dropIns.good} with the reboot` });
  const changed = own.trial?.base !== own.good?.base && own.trial?.config === (own.good?.config ?? record.good);
  if (isStale(view) || (isStaged(view, seen) && changed))
    notices.push({ reason: 'BaseCommandChanged', message: `ExecStart= of the unit is now ${view.base?.text}` });
  if (fellBack !== undefined && own.fallback !== undefined)
    notices.push({ reason: 'FellBackToLocal', message: 'the last known good config kept crashing at its start' });
  const left = limits.split('\n').flatMap((line) => {
    const [, file, now, before] = /^left (\S+) (\S+) (.*)$/.exec(line) ?? [];
    return file === undefined ? [] : [`${file} is ${now}, and was ${before}`];
  });
  if (left.length > 0) notices.push({ reason: 'LimitsLeft', message: left.join('; ') });
  return notices;
}

/** The next start is a trial, and the kubelet was started before it was staged. */
export function isStaged({ unit, own }: Pick<HostView, 'unit' | 'own'>, { before }: Pick<Seen, 'before'>): boolean {
  return own.trial !== undefined && before !== undefined && unit.invocationId === before;
}

/** The drop-in that is missing although relet did not remove it, and neither a reboot nor a rollback did. */
export function removedDropIn(
  { own }: Pick<HostView, 'own'>,
  { record, bootId, hasFallbackUnit }: Pick<Seen, 'record' | 'bootId' | 'hasFallbackUnit'>,
): 'trial' | 'good' | undefined {
  const isSameBoot = record.bootId === bootId;
  if (record.trial !== undefined && own.trial === undefined && isSameBoot) return 'trial';
  const isGoodGone = record.good !== undefined && own.good === undefined;
  // A host that forgets /etc at a boot forgets relet's units with it.
  return isGoodGone && (isSameBoot || hasFallbackUnit) ? 'good' : undefined;
}

function isUnitRecord(value: unknown): value is UnitRecord {
  return (
    isObject(value) &&
    typeof value.bootId === 'string' &&
    isObject(value.configs) &&
    Object.values(value.configs).every(
      (config) => isObject(config) && isExactRef(config.source) && typeof config.file === 'string',
    )
  );
}
