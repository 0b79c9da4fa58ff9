/**
 * For a host with a trust file: reports the state of its signatures, and retries a config that was rejected for its signature when the
 * trust file or the validity of the statement changes.
 */
import { type ExactRef, sameConfig } from '../api/config-ref.js';
import type { SigningStatus } from '../api/signing.js';
import { type Clock, rfc3339 } from '../clock.js';
import type { AcceptedBytes } from '../config/signing/decide.js';
import type { Trust } from '../config/signing/trust.js';
import type { Log } from '../log.js';
import type { CurrentRun } from './current-run.js';
import type { KubeletRun } from './kubelet-run.js';
import { type EventText, unsignedAccepted } from './report/events.js';
import type { NodeReport, ReportSource } from './report/node-report.js';
import type { SigningReport } from './report/report.js';
import type { ReportFields } from './report/reporter.js';
import type { RunPart } from './run-part.js';
import {
  type AcceptUnsigned,
  acceptedAs,
  acceptsUnsigned,
  digestsAt,
  requireSignatures,
  type SignedDigests,
  signingRecord,
  unsignedRecord,
} from './signing-record.js';
import type { NodeState } from './state/node-state.js';
import { isSignatureReason, readTrust } from './validate/signatures.js';
import type { TrustSource } from './validate/trust-file.js';

export interface SigningOptions {
  state: NodeState;
  trustFile: TrustSource;
  report: NodeReport;
  current: Pick<CurrentRun, 'applyChoice'>;
  send(event: EventText): void;
  clock: Clock;
  log: Log;
}

/** The trust file may have changed, a statement has become valid, or has expired. */
const checkEveryMs = 60_000;

export class Signing implements RunPart, ReportSource {
  readonly #options: SigningOptions;
  #problem: string | undefined;
  /** Digests of the config that runs: its checkpoint never changes. */
  #active: { source: ExactRef; digests: SignedDigests | undefined } | undefined;

  constructor(options: SigningOptions) {
    this.#options = options;
  }

  reported(run: KubeletRun | undefined): Pick<ReportFields, 'signing'> {
    const { state, trustFile, clock } = this.#options;
    const now = Math.floor(clock.now() / 1000);
    const found = readTrust(trustFile, state.read(signingRecord) !== undefined);
    if (found === undefined) return { signing: undefined };
    const { floor } = requireSignatures(state, now);
    const problem = 'problem' in found ? found.problem.message : undefined;
    this.#noteProblem(problem);
    const unsigned = this.#noteUnsigned(acceptsUnsigned(state, now));
    const { notAfter, ...active } = this.#statusOf(run?.choice.source);
    const isExpired = notAfter !== undefined && notAfter < now;
    const signing: SigningReport = {
      status: {
        required: true,
        floor,
        ...active,
        ...(notAfter !== undefined && { notAfter: timeText(notAfter) }),
        ...('trust' in found && requirements(found.trust, now)),
      },
      ...(problem !== undefined && { problem }),
      ...(isExpired && { expiredAt: timeText(notAfter) }),
      ...(unsigned !== undefined && { unsigned }),
    };
    return { signing };
  }

  async during(run: KubeletRun, signal: AbortSignal): Promise<void> {
    const { clock, report, current, trustFile } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(checkEveryMs, signal).catch(() => {});
      if (signal.aborted) return;
      await trustFile.load();
      report.update();
      if (isSignatureReason((run.next ?? run.choice).error?.reason)) await current.applyChoice();
    }
  }

  /** Empty for local; a config that was accepted without a signature has no signers. */
  #statusOf(source: ExactRef | undefined): Pick<AcceptedBytes, 'signers' | 'serial' | 'notAfter'> {
    if (source === undefined) return {};
    const { state } = this.#options;
    if (!sameConfig(this.#active?.source, source, 'version'))
      this.#active = { source, digests: digestsAt(state, source) };
    const { signers, serial, notAfter } = acceptedAs(state, this.#active?.digests) ?? {};
    return {
      ...(signers !== undefined && { signers }),
      ...(serial !== undefined && { serial }),
      ...(notAfter !== undefined && { notAfter }),
    };
  }

  #noteProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === undefined) this.#options.log.info('trust file can be used');
    else this.#options.log.error('trust file cannot be used, keeping the current config', { problem });
  }

  /** Sends its event once, also where another process took the request. */
  #noteUnsigned(unsigned: AcceptUnsigned | undefined): string | undefined {
    const { state, send, log } = this.#options;
    if (unsigned === undefined) return undefined;
    const { until, who, why } = unsigned;
    const text = `Until ${timeText(until)}${who ? `, ${who}` : ''}: ${why}`;
    if (!unsigned.isReported) {
      log.warn('configs are accepted without a signature', { until: timeText(until), who, why });
      send(unsignedAccepted(text));
      state.write(unsignedRecord, { ...unsigned, isReported: true });
    }
    return text;
  }
}

function requirements({ pool, threshold, signers, revoked }: Trust, now: number): Partial<SigningStatus> {
  const ends = signers.flatMap(({ validBefore = 0, fingerprint }) =>
    validBefore > now && !revoked.has(fingerprint) ? [validBefore] : [],
  );
  return {
    ...(pool !== undefined && { pool }),
    threshold,
    ...(ends.length > 0 && { keyExpires: timeText(Math.min(...ends)) }),
  };
}

const timeText = (seconds: number): string => rfc3339(seconds * 1000);
