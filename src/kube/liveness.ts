/**
 * Monitors whether the API server answers while watches are open. A watch without events looks the same whether nothing changes or the
 * server hangs; a cheap request with a deadline shows which it is.
 *
 *     answering ── no answer before the deadline ──► silent ── any answer ──► answering
 *
 * Silence ends all requests that only read, and all watches: on a connection whose other end is gone they would wait for many minutes.
 * They also end when this machine slept, since its connections may not have survived that. The loops of watch.ts open them again.
 */
import { ApiError } from '../api/status.js';
import type { Clock } from '../clock.js';

/** Wall clock, of the last answer; and the reason, where it is more than that nothing came. */
export interface Silence {
  sinceMs: number;
  why: string;
}

export interface LivenessListener {
  signal: AbortSignal;
  onSilent(silence: Silence): void;
  /** The API server answers again. */
  onAnswer(silence: Silence): void;
}

export interface LivenessParts {
  clock: Clock;
  /** Sends a cheap request. Any answer will do, also one that refuses. */
  probe(timeoutMs: number, signal: AbortSignal): Promise<unknown>;
  /** Monotonic, of the last answer to any request. */
  answeredMs(): number;
  /** Ends reads and watches with this error. */
  lost(error: Error): void;
}

/** For clients whose data people look at: the kernel notices in as short a time that the other end of a watch is gone. */
export const liveKeepAliveMs = 4000;
const everyMs = 4000;
const deadlineMs = 8000;
const retryMs = 1000;
/** A silence is noticed within this time. */
export const noticedMs = everyMs + deadlineMs;
/** A timer that is late by so much: the machine, or this process, was suspended. */
const suspendedMs = 10_000;

/** Returns when the signal fires. */
export async function followLiveness(parts: LivenessParts, listener: LivenessListener): Promise<void> {
  const { clock, probe, answeredMs, lost } = parts;
  const { signal, onSilent, onAnswer } = listener;
  let silence: Silence | undefined;
  let knownMs = clock.monotonic();
  for (;;) {
    const waitMs = silence === undefined ? everyMs : retryMs;
    const untilMs = clock.now() + waitMs;
    await clock.sleep(waitMs, signal).catch(() => {});
    if (signal.aborted) return;
    if (clock.now() - untilMs > suspendedMs) lost(lostError('this machine was suspended'));
    const sentMs = clock.monotonic();
    const error = await probe(deadlineMs, signal).then(
      () => undefined,
      (failure: unknown) => failure ?? new Error('no reason'),
    );
    if (signal.aborted) return;
    knownMs = Math.max(knownMs, answeredMs());
    // A busy server may answer with a delay that exceeds the deadline, or answer other requests.
    if (error === undefined || error instanceof ApiError || knownMs > sentMs) {
      if (silence !== undefined) onAnswer(silence);
      silence = undefined;
      knownMs = clock.monotonic();
    } else if (silence === undefined) {
      silence = { sinceMs: Math.round(clock.now() - (clock.monotonic() - knownMs)), why: whyOf(error) };
      lost(lostError('the API server does not answer'));
      onSilent(silence);
    }
  }
}

const lostError = (text: string): Error => Object.assign(new Error(text), { code: 'ETIMEDOUT' });

/** The reason of a silence. Empty for a timeout, which is not more than the silence itself. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'TimeoutError' ? '' : error.message;
}
