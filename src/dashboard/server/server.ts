/**
 * The server of the dashboard. It acts as the person who is logged in: every answer is read with their credential, every button runs
 * relet with it. It has no rights of its own and keeps nothing on disk.
 *
 *   request ─► Host ─► file of the page, or api/… ─► for POST: Origin ─► session ─► CSRF ─► route ─► answer or problem
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, BlockList } from 'node:net';
import type { Clock } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import { csrfHeader, type Problem } from '../wire.js';
import { Children, type RunRelet } from './children.js';
import { readJson, sendJson, setSecurityHeaders } from './http.js';
import { readPageFiles } from './page-files.js';
import { Places } from './places.js';
import { badRequest, problemOf, RequestProblem } from './problem.js';
import {
  cookieName,
  isAllowedHost,
  isLoopbackAddress,
  isOwnOrigin,
  isProxy,
  isSame,
  isSecure,
  readCookie,
  sessionCookie,
} from './request-checks.js';
import { findRoute, meOf, type Route, type RouteContext } from './routes.js';
import { mustLogIn, type Session, Sessions } from './sessions.js';
import { eventText, FleetStream } from './stream.js';

export interface DashboardOptions {
  address: string;
  /** 0: any. */
  port: number;
  /** Begins and ends with a slash. */
  basePath: string;
  tls?: { cert: string; key: string };
  readOnly: boolean;
  /** Names in the Host header that are allowed; none: any, but on loopback only its own names. */
  allowedHosts: readonly string[];
  /** Header with the user's bearer token, accepted only from `trustedProxies`. */
  proxyHeader?: string;
  trustedProxies: BlockList;
  /** Directory of the built page. */
  pageDir: string;
  /** With this token; without one, as the person who started the server. Undefined: that is not offered. */
  connect(token?: string): KubeClient | undefined;
  run: RunRelet;
  /** Memory of this machine or pod, for the server and the processes that it runs. */
  memoryMB: number;
  version: string;
  clock: Clock;
  random: Random;
  log: Log;
  /** Ends the server. */
  signal: AbortSignal;
}

export interface Dashboard {
  port: number;
  /** For a link that logs in once, as the person who started the server. */
  newCode(): string;
}

/** Resolves when it listens. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { address, port, tls, signal, log } = options;
  const sessions = new Sessions(options);
  const children = new Children(options.run, new Places({ limitMB: options.memoryMB, clock: options.clock }));
  const files = readPageFiles(options.pageDir, options.basePath);
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    void answer({ options, sessions, children, files, request, response }).catch((error: unknown) =>
      fail(error, response, log),
    );
  const limits = { maxHeaderSize: 32 * 1024, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 15_000 };
  const server: Server = tls ? createTlsServer({ ...limits, ...tls }, handle) : createServer(limits, handle);
  server.maxConnections = 1000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port }, resolve);
  });
  void sessions.watch();
  signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, newCode: () => sessions.newCode() };
}

interface Exchange {
  options: DashboardOptions;
  sessions: Sessions;
  children: Children;
  files: ReturnType<typeof readPageFiles>;
  request: IncomingMessage;
  response: ServerResponse;
}

function fail(error: unknown, response: ServerResponse, log: Log): void {
  const known = problemOf(error);
  if (known === undefined && !response.destroyed) log.error('request failed', { error });
  const { status, problem } = known ?? {
    status: 500,
    problem: { reason: 'InternalError', message: 'This is a bug in relet; the log of the server has the details.' },
  };
  if (response.destroyed) return;
  if (response.headersSent) response.destroy();
  else sendJson(response, status, problem);
}

async function answer(exchange: Exchange): Promise<void> {
  const { options, request, response } = exchange;
  const { basePath, address, allowedHosts } = options;
  setSecurityHeaders(response);
  if (!isAllowedHost(request.headers.host, { isLoopback: isLoopbackAddress(address), allowed: allowedHosts }))
    throw new RequestProblem(421, {
      reason: 'WrongHost',
      message: 'This server is not known by that name.',
      remedy: 'Open it as localhost, or start it with --allowed-hosts NAME.',
    });
  const { pathname, searchParams } = urlOf(request);
  if (pathname === '/healthz' || pathname === `${basePath}healthz`) return void response.end('ok\n');
  if (`${pathname}/` === basePath) return redirect(response, basePath);
  if (!pathname.startsWith(basePath)) throw notFound();
  const path = pathname.slice(basePath.length);
  if (path === 'api' || path.startsWith('api/')) return answerApi(exchange, segmentsOf(path.slice(4)), searchParams);
  if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed();
  sendPage(exchange, path);
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  try {
    return new URL(url, 'http://dashboard');
  } catch {
    throw badRequest('The address cannot be read.');
  }
}

function segmentsOf(path: string): string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    throw badRequest('The address cannot be read.');
  }
}

function redirect(response: ServerResponse, to: string): void {
  response.writeHead(308, { location: to });
  response.end();
}

const notFound = (): RequestProblem =>
  new RequestProblem(404, { reason: 'NotFound', message: 'There is nothing at this address.' });
const notAllowed = (): RequestProblem =>
  new RequestProblem(405, { reason: 'MethodNotAllowed', message: 'This address cannot be used in this way.' });

/** Any address that is not a file is a view of the page, which reads the address itself. */
function sendPage({ files, request, response }: Exchange, path: string): void {
  if (files.send(path, request, response)) return;
  const isView = !/\.(js|css|map|svg|txt)$/.test(path);
  if (isView && files.send('index.html', request, response)) return;
  if (!isView) throw notFound();
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(
    "The page of the dashboard is not part of this build; 'npm run build' makes it. The API below api/ works.\n",
  );
}

async function answerApi(exchange: Exchange, segments: string[], query: URLSearchParams): Promise<void> {
  const { options, sessions, children, request, response } = exchange;
  const { method = 'GET' } = request;
  const path = segments.join('/');
  if (method !== 'GET' && method !== 'POST') throw notAllowed();
  if (method === 'POST' && !isOwnOrigin(request.headers))
    throw new RequestProblem(403, { reason: 'ForeignOrigin', message: 'The request comes from another page.' });
  if (path === 'login' && method === 'POST') return logIn(exchange);
  // From the beginning: to open a session takes a while, and the browser may go away meanwhile.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const session = await sessionOf(exchange);
  if (session === undefined) throw new RequestProblem(401, mustLogIn('Nobody is logged in.'));
  // A tab sends it with what it reads, too: its cookie may be that of another login in the same browser.
  const csrf = request.headers[csrfHeader];
  if ((method === 'POST' || csrf !== undefined) && !isSame(session.csrf, String(csrf ?? '')))
    throw new RequestProblem(403, {
      reason: 'CSRFTokenMissing',
      message: `The header ${csrfHeader} is missing, or of another session.`,
      remedy: 'Load the page again.',
    });
  if (path === 'logout' && method === 'POST') {
    sessions.end(session);
    response.setHeader('set-cookie', cookieOf(exchange, ''));
    return sendJson(response, 200, {});
  }
  if (path === 'stream' && method === 'GET') return openStream(exchange, session, gone.signal);
  const found = findRoute(method, segments);
  if (found === undefined) throw notFound();
  const { clock, readOnly, version } = options;
  const signal = AbortSignal.any([gone.signal, session.over.signal]);
  const context = { session, names: found.names, query, request, response, signal, children, clock, readOnly, version };
  const value = await answerOf(found.route, context);
  if (value !== undefined) sendJson(response, 200, value);
}

/** Work for a session ends with it. The error of that means nothing to a page that is still open. */
async function answerOf(route: Route, context: RouteContext): Promise<unknown> {
  try {
    return await route.answer(context);
  } catch (error) {
    if (context.session.over.signal.aborted) throw new RequestProblem(401, mustLogIn('This session has ended.'));
    throw error;
  }
}

async function sessionOf({ options, sessions, request }: Exchange): Promise<Session | undefined> {
  const { proxyHeader, trustedProxies } = options;
  const given = proxyHeader === undefined ? undefined : request.headers[proxyHeader.toLowerCase()];
  if (typeof given === 'string' && isProxy(trustedProxies, request.socket.remoteAddress))
    return sessions.fromProxy(given.replace(/^Bearer /i, '').trim());
  return sessions.find(readCookie(request.headers.cookie, cookieName(request.headers.host)));
}

const longestToken = 16 * 1024;

async function logIn(exchange: Exchange): Promise<void> {
  const { options, sessions, request, response } = exchange;
  const { token, once } = await readJson(request);
  const isToken = typeof token === 'string' && token.length <= longestToken && /^[\x21-\x7e]+$/.test(token.trim());
  if (!isToken && typeof once !== 'string') throw badRequest("'token' must be a bearer token.");
  const session = await (isToken ? sessions.withToken(token.trim()) : sessions.withCode(once as string));
  response.setHeader('set-cookie', cookieOf(exchange, session.id));
  sendJson(response, 200, meOf(session, options));
}

const cookieOf = ({ options, request: { headers } }: Exchange, value: string): string =>
  sessionCookie(value, {
    name: cookieName(headers.host),
    basePath: options.basePath,
    isSecure: isSecure(headers, options.tls !== undefined),
  });

const mostStreams = 10;

function openStream({ options, response }: Exchange, session: Session, signal: AbortSignal): void {
  if (signal.aborted) return;
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    // nginx would collect the events otherwise.
    'x-accel-buffering': 'no',
  });
  if (session.streams.size >= mostStreams) {
    const problem: Problem = {
      reason: 'TooManyStreams',
      message: 'Ten tabs of this session are open already.',
      remedy: 'Close some of them.',
    };
    response.end(eventText('rejected', problem));
    return;
  }
  const stream = new FleetStream({
    view: session.view,
    clock: options.clock,
    signal,
    out: {
      write: (text) => response.write(text),
      onDrain: (listener) => void response.on('drain', listener),
      end: () => void response.end(),
      destroy: () => void response.destroy(),
    },
  });
  session.streams.add(stream);
  signal.addEventListener('abort', () => {
    session.streams.delete(stream);
    session.usedMs = options.clock.monotonic();
  });
  stream.open();
}
