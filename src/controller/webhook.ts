/** Sends a notice to the webhook: one POST with JSON. */
import type { SendNotice } from './notifier.js';
import { type OutboundOptions, outbound } from './outbound.js';

/** Throws CannotRun for options that can never work. */
export function webhookSender(options: Omit<OutboundOptions, 'flag'>): SendNotice {
  const send = outbound({ ...options, flag: 'webhook' });
  const { origin } = new URL(options.url);
  return async (notice, signal) => {
    const headers = { 'content-type': 'application/json' };
    const { status } = await send({ method: 'POST', headers, body: JSON.stringify(notice) }, signal);
    if (status < 200 || status > 299) throw new Error(`${origin} answered ${status}`);
  };
}
