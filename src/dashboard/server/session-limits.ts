/** Limits of sessions, per user and for the server. A login over the limit is not rejected, but ends the oldest session. Pure. */
import type { May, Problem } from '../wire.js';
import { hasRights } from './access.js';

const mostOfPerson = 5;
const mostSessions = 100;

interface Counted {
  owner: string;
  may: May;
  streams: { size: number };
  usedMs: number;
}

/** Sessions that end when `added` begins: first logins without permissions, then sessions without an open tab, then the others. */
export function sessionsToEnd<T extends Counted>(present: readonly T[], added: T): { session: T; why: Problem }[] {
  const own = present.filter(({ owner }) => owner === added.owner);
  const ofPerson = own.toSorted(byAge).slice(0, Math.max(0, own.length - mostOfPerson + 1));
  const rest = present.filter((session) => !ofPerson.includes(session));
  const ofServer = rest.toSorted(byAge).slice(0, Math.max(0, rest.length - mostSessions + 1));
  return [
    ...ofPerson.map((session) => ({ session, why: replaced(`You logged in ${mostOfPerson} more times since`) })),
    ...ofServer.map((session) => ({
      session,
      why: replaced(`${mostSessions} other sessions of this server are newer`),
    })),
  ];
}

const replaced = (reason: string): Problem => ({
  reason: 'SessionReplaced',
  message: `${reason}, so this session has ended.`,
  remedy: 'Log in again.',
});

function byAge(a: Counted, b: Counted): number {
  const rank = ({ may, streams }: Counted) => (hasRights(may) ? 1 : 0) * 2 + (streams.size > 0 ? 1 : 0);
  return rank(a) - rank(b) || a.usedMs - b.usedMs;
}
