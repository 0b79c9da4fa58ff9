/**
 * The sessions of the dashboard. Each has the credential of one person, a client and a view of the fleet of its own: nothing that one
 * person has read is ever shown to another.
 *
 *   login (token, one-time code, or a proxy's header) ──► session ── idle, logout, or 401 of the API server ──► ended
 */
import { createHash, createHmac } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { isUnauthorized } from '../../api/status.js';
import { CannotRun } from '../../cannot-run.js';
import type { Clock } from '../../clock.js';
import { configReferences } from '../../fleet/config-references.js';
import type { ConfigReferences } from '../../fleet/configured-node.js';
import { type KubeClient, serverVersion } from '../../kube/client.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { shorten } from '../../shorten.js';
import { oneLine } from '../../visible-text.js';
import type { May, Me, Problem } from '../wire.js';
import { type Person, readAccess, whoIs } from './access.js';
import { FleetView } from './fleet-view.js';
import { problemOf, RequestProblem } from './problem.js';
import { isSame } from './request-checks.js';
import { sessionsToEnd } from './session-limits.js';
import type { FleetStream } from './stream.js';

export interface Session {
  readonly id: string;
  readonly csrf: string;
  readonly login: Me['login'];
  readonly person: Person;
  /** The person, for limits: by user name, or by credential where the API server names nobody. */
  readonly owner: string;
  readonly client: KubeClient;
  readonly references: ConfigReferences;
  readonly kubernetes: string;
  readonly view: FleetView;
  may: May;
  readonly streams: Set<FleetStream>;
  usedMs: number;
  /** Fires when the session ends; what runs for it ends too. */
  readonly over: AbortController;
}

export interface SessionsOptions {
  /** With this token; without one, as the person who started the server. Undefined: that is not offered. */
  connect(token?: string): KubeClient | undefined;
  readOnly: boolean;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

const onceMs = 600_000;
const idleMs = 30 * 60_000;
const checkMs = 60_000;
const mostLogins = 32;
const mostLoginsWithToken = 2;

export const mustLogIn = (message: string): Problem => ({
  reason: 'LoginNeeded',
  message,
  remedy:
    "Log in with a bearer token ('kubectl create token NAME'), or open the link that 'relet dashboard' prints when it starts.",
});

const tokenRefused: Problem = {
  reason: 'TokenRefused',
  message: 'The API server does not accept this credential.',
  remedy: "Check that the token is whole, of this cluster and not expired; 'kubectl create token NAME' makes one.",
};

const proxyTokenRefused: Problem = {
  reason: 'ProxyTokenRefused',
  message: 'The API server does not accept the token that the proxy in front of this page sends.',
  remedy:
    'Log in again; if that does not help, the API server must trust the issuer of the token, for the client ID of the proxy.',
};

const digest = (token: string): string => createHash('sha256').update(token).digest('hex');

/** API servers before 1.28 name nobody, and no group. */
const isNamed = ({ groups }: Person): boolean => groups.length > 0;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #byId = new Map<string, Session>();
  /** Sessions from a proxy's header, by the digest of the token. */
  readonly #byToken = new Map<string, Promise<Session>>();
  readonly #codes = new Map<string, number>();
  readonly #secret: Buffer;
  /** Under way, by the digest of the token. */
  readonly #logins = new Map<string, number>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#secret = options.random.bytes(32);
    options.signal.addEventListener('abort', () => {
      for (const session of this.#byId.values()) this.end(session);
    });
  }

  /** For a link that logs in once, as the person who started the server. */
  newCode(): string {
    const code = this.#options.random.bytes(16).toString('base64url');
    this.#codes.set(code, this.#options.clock.monotonic() + onceMs);
    return code;
  }

  find(id: string | undefined): Session | undefined {
    const session = id === undefined ? undefined : this.#byId.get(id);
    if (session !== undefined) session.usedMs = this.#options.clock.monotonic();
    return session;
  }

  withToken(token: string): Promise<Session> {
    return this.#open('token', token);
  }

  /** The same session as long as the proxy sends the same token. */
  async fromProxy(token: string): Promise<Session> {
    const key = digest(token);
    const known = await this.#byToken.get(key)?.catch(() => undefined);
    if (known !== undefined && this.find(known.id) !== undefined) return known;
    const opening = this.#open('proxy', token);
    this.#byToken.set(key, opening);
    opening.then(
      (session) => session.over.signal.addEventListener('abort', () => this.#byToken.delete(key)),
      () => this.#byToken.delete(key),
    );
    return opening;
  }

  async withCode(code: string): Promise<Session> {
    const { clock } = this.#options;
    const [known, untilMs] = [...this.#codes].find(([one]) => isSame(one, code)) ?? [];
    if (known !== undefined) this.#codes.delete(known);
    if (untilMs === undefined || untilMs < clock.monotonic())
      throw new RequestProblem(401, {
        reason: 'LinkUsed',
        message: 'This link has been used, or is older than 10 minutes.',
        remedy:
          "'relet dashboard' prints a new link, and with --link one to that of 'relet up'; or log in with a bearer token.",
      });
    try {
      return await this.#open('kubeconfig');
    } catch (error) {
      // Nobody has logged in with it.
      this.#codes.set(code, untilMs);
      throw error;
    }
  }

  end(session: Session, problem?: Problem): void {
    if (!this.#byId.delete(session.id)) return;
    for (const stream of session.streams) problem === undefined ? stream.end() : stream.login(problem);
    session.over.abort();
    session.view.stop();
    session.client.close();
    this.#options.log.info('session ended', { user: session.person.user });
  }

  async #open(login: Me['login'], token?: string): Promise<Session> {
    const { connect, readOnly, clock, random, log } = this.#options;
    const key = digest(token ?? '');
    const before = this.#logins.get(key) ?? 0;
    if (this.#logins.size >= mostLogins || before >= mostLoginsWithToken)
      throw new RequestProblem(503, {
        reason: 'TooManyLogins',
        message: 'Too many people, or too many with this token, log in at the same time.',
        remedy: 'Try again in a minute.',
      });
    const client = connect(token);
    if (client === undefined) throw new CannotRun('this server takes bearer tokens only');
    const over = new AbortController();
    const { signal } = over;
    // A login sends a dozen requests at once, and all end with the session.
    setMaxListeners(0, signal);
    this.#logins.set(key, before + 1);
    try {
      const person = await whoIs(client, signal);
      const references = await configReferences(client, { signal });
      const may = await readAccess(client, { mode: references.kind, readOnly, signal });
      const kubernetes = await serverVersion(client, { signal }).then(
        ({ gitVersion }) => gitVersion,
        () => '',
      );
      const session: Session = {
        id: random.bytes(32).toString('base64url'),
        csrf: this.#csrfFor(login, person),
        login,
        person: { user: shorten(oneLine(person.user), 300), groups: person.groups.map(oneLine) },
        owner: isNamed(person) ? `user ${person.user}` : `credential ${key}`,
        client,
        references,
        kubernetes,
        may,
        view: new FleetView({
          client,
          references,
          clock,
          may: () => session.may,
          onUnauthorized: (error) => this.#expired(session, error),
          onForbidden: () => void this.#checkAccess(session),
        }),
        streams: new Set(),
        usedMs: clock.monotonic(),
        over,
      };
      for (const { session: old, why } of sessionsToEnd([...this.#byId.values()], session)) {
        log.info('session replaced by another login', { user: old.person.user });
        this.end(old, why);
      }
      this.#byId.set(session.id, session);
      log.info('logged in', { user: session.person.user, how: login });
      return session;
    } catch (error) {
      over.abort();
      client.close();
      if (!isUnauthorized(error)) throw error;
      log.info('login refused', { how: login });
      throw new RequestProblem(401, login === 'proxy' ? proxyTokenRefused : tokenRefused);
    } finally {
      const left = this.#logins.get(key)! - 1;
      if (left === 0) this.#logins.delete(key);
      else this.#logins.set(key, left);
    }
  }

  /** A proxy renews the token of a person, and their open pages stay valid: the value depends on the user whom the API server names. */
  #csrfFor(login: Me['login'], person: Person): string {
    if (login !== 'proxy' || !isNamed(person)) return this.#options.random.bytes(32).toString('base64url');
    return createHmac('sha256', this.#secret).update(person.user).digest('base64url');
  }

  #expired(session: Session, error: unknown): void {
    const reason = problemOf(error)?.problem.message ?? '';
    const problem = mustLogIn(`The API server no longer accepts the credential of this session (${reason}).`);
    // A proxy may have renewed the token: the stream only ends, and the page opens another.
    this.end(session, session.login === 'proxy' ? undefined : problem);
  }

  /** A person may lose or get rights while they look; what they may not see any more is taken from the page. */
  async #checkAccess(session: Session): Promise<void> {
    const { readOnly } = this.#options;
    const { client, references, over } = session;
    try {
      const may = await readAccess(client, { mode: references.kind, readOnly, signal: over.signal });
      if (JSON.stringify(may) === JSON.stringify(session.may)) return;
      session.may = may;
      for (const stream of session.streams) stream.access(may);
      session.view.restart();
    } catch (error) {
      if (isUnauthorized(error)) this.#expired(session, error);
      // Otherwise the API server does not answer now; the view reports that it is stale.
    }
  }

  /** Until the server ends: checks rights, and ends what is idle. */
  async watch(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(checkMs, signal).catch(() => {});
      if (signal.aborted) return;
      for (const [code, untilMs] of this.#codes) if (untilMs < clock.monotonic()) this.#codes.delete(code);
      for (const session of this.#byId.values()) {
        if (session.streams.size > 0) void this.#checkAccess(session);
        else if (clock.monotonic() - session.usedMs > idleMs) this.end(session);
      }
    }
  }
}
