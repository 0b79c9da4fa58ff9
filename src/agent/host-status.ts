/** Data of `relet node status`: read from disk and /proc alone, so that it works without the API. */
import { join } from 'node:path';
import { isExactRef } from '../api/config-ref.js';
import { betaError } from '../api/upstream-words.js';
import type { Files } from '../atomic-file.js';
import { type Clock, rfc3339 } from '../clock.js';
import { lockHolder, type Processes } from '../process-lock.js';
import { previousConfigRecord } from './candidates.js';
import { childRecord } from './drivers/child.js';
import type { Notice } from './drivers/driver.js';
import { kubeletRecord } from './drivers/kubelet-version.js';
import { reportRecord } from './report/reporter.js';
import { type Hold, holdRecord } from './requests.js';
import { acceptedAs, acceptsUnsigned, digestsAt, signingRecord } from './signing-record.js';
import type { NodeState, Recorded } from './state/node-state.js';
import { reasonOf, resultsRecord, trialRecord } from './trial/trial.js';

export interface HostStatus {
  node: string;
  relet: { pid: number } | undefined;
  driver: string;
  /** As far as relet is its parent. */
  kubelet: { pid: number; version: string; config: string } | undefined;
  assigned: string;
  active: string;
  lastKnownGood: string;
  /** Healthy time so far and crashes of the config on trial. */
  trial: { healthySeconds: number; deaths: number } | undefined;
  /** The config before a reset, until local was healthy once. */
  previousConfig: string | undefined;
  error: string | undefined;
  cause: string | undefined;
  warnings: string[];
  /** Changes of others to the unit of the kubelet, in attached mode. */
  notices: Notice[];
  /** Config of the next kubelet start, if it is not the active one. */
  nextStart: string | undefined;
  held: Hold | undefined;
  signing: HostSigning | undefined;
  /** Configs that are not tried again. */
  failures: { error: string; cause: string; at: string }[];
  /** When the rest was last found out. */
  changedAt: string | undefined;
  /** When the API last took a report; it has the rest if that was not before `changedAt`. */
  reportedAt: string | undefined;
}

/** Signatures on a host that requires them. */
export interface HostSigning {
  /** Lowest serial that is accepted. */
  floor: number;
  /** Principals that signed the active config, and its serial; absent where it was accepted without a signature. */
  signers?: string[];
  serial?: number;
  /** Unsigned configs are accepted: until when (RFC 3339), why, and on whose request. */
  unsigned?: { until: string; why: string; who?: string };
}

export function readHostStatus(
  dir: string,
  state: NodeState,
  { host, files, clock }: { host: Processes; files: Files; clock: Pick<Clock, 'now'> },
): HostStatus {
  const report = state.read(reportRecord);
  const child = state.read(childRecord);
  const process = child?.bootId === host.bootId() ? child.process : undefined;
  const lives = process !== undefined && host.identify(process.pid)?.startTime === process.startTime;
  const trial = state.read(trialRecord);
  const previous = state.read(previousConfigRecord);
  const holder = lockHolder({ path: join(dir, 'meta', 'lock'), host, files });
  const active = report?.active?.configMap;
  return {
    node: report?.node ?? '',
    relet: holder && { pid: holder.pid },
    driver: report?.driver ?? 'process',
    kubelet: lives
      ? { pid: process.pid, version: state.read(kubeletRecord)?.version ?? '', config: shown(child?.source) }
      : undefined,
    assigned: recorded(state.assigned()),
    active: shown(active),
    lastKnownGood: recorded(state.lastKnownGood()),
    trial: trial && { healthySeconds: Math.floor(trial.healthyMs / 1000), deaths: trial.deaths },
    previousConfig: previous && shown(previous),
    error: report?.error,
    cause: report?.cause,
    warnings: report?.warnings ?? [],
    notices: report?.notices ?? [],
    nextStart: report?.nextStart,
    held: state.read(holdRecord),
    signing: signingOf(state, active, clock),
    failures: Object.values(state.read(resultsRecord) ?? {}).flatMap((result) =>
      result.kind === 'failed'
        ? [
            {
              error: betaError({ reason: reasonOf(result.reason) ?? 'InternalError', about: {} }),
              cause: result.cause,
              at: result.at,
            },
          ]
        : [],
    ),
    changedAt: report?.at,
    reportedAt: report?.reportedAt,
  };
}

function signingOf(state: NodeState, active: unknown, clock: Pick<Clock, 'now'>): HostSigning | undefined {
  const record = state.read(signingRecord);
  if (record === undefined) return undefined;
  const { signers, serial } = (isExactRef(active) && acceptedAs(state, digestsAt(state, active))) || {};
  const unsigned = acceptsUnsigned(state, Math.floor(clock.now() / 1000));
  return {
    floor: record.floor,
    ...(signers && { signers }),
    ...(serial !== undefined && { serial }),
    ...(unsigned && {
      unsigned: {
        until: rfc3339(unsigned.until * 1000),
        why: unsigned.why,
        ...(unsigned.who && { who: unsigned.who }),
      },
    }),
  };
}

function recorded(record: Recorded): string {
  return 'source' in record ? shown(record.source) : `unreadable: ${record.broken.message}`;
}

/** As `relet describe` shows it. */
function shown(source: ShownSource | undefined): string {
  if (source === undefined) return 'local config';
  return `${source.namespace}/${source.name}/${source.kubeletConfigKey} (version ${source.resourceVersion})`;
}

type ShownSource = { namespace: string; name: string; kubeletConfigKey: string; resourceVersion?: string };
