/**
 * For commands that watch a cluster: prints since when the API server has not answered, and that it answers again. Otherwise a server
 * that hangs looks like one where nothing changes.
 */
import { shortDuration } from '../go/short-duration.js';
import type { KubeClient } from '../kube/client.js';
import type { Silence } from '../kube/liveness.js';
import { ConnectionError } from '../kube/transport.js';
import { printError } from './terminal/terminal.js';

export interface FollowServerOptions {
  client: Pick<KubeClient, 'followLiveness'>;
  signal: AbortSignal;
  /** A line for people. Default: on standard error. */
  show?(line: string): void;
}

/** Until the signal fires. Returns what a watch calls when it fails: that the server does not answer is shown once, not for each watch. */
export function followServer({ client, signal, show = printError }: FollowServerOptions): (error: unknown) => void {
  void client.followLiveness({
    signal,
    onSilent: (silence) => show(`relet: ${silentText(silence, Date.now())}`),
    onAnswer: (silence) => show(`relet: ${answersText(silence, Date.now())}`),
  });
  return (error) => {
    if (!(error instanceof ConnectionError)) show(`relet: cannot follow, trying again: ${(error as Error).message}`);
  };
}

/** `the API server has not answered since 12:03:04 (12s): …; everything shown here is as old as that`. */
export const silentText = ({ sinceMs, why }: Silence, nowMs: number): string =>
  `the API server has not answered since ${timeOf(sinceMs)} (${shortDuration(nowMs - sinceMs)})${why && `: ${why}`}; everything shown here is as old as that, trying again`;

export const answersText = ({ sinceMs }: Silence, nowMs: number): string =>
  `the API server answers again, after ${shortDuration(nowMs - sinceMs)} without an answer`;

/** Local, as the clock that the person sees. */
const timeOf = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
