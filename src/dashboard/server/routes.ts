/** What the page can ask for, one line for each path. A route gets a session, and throws a problem where it cannot answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkDnsLabel, checkDnsSubdomain } from '../../api/names.js';
import type { Clock } from '../../clock.js';
import { findConfigMap } from '../../fleet/config-maps.js';
import { isObject } from '../../json.js';
import type { ActionResult, Me, PlanAnswer, RehearsalLine, UpgradeAnswer } from '../wire.js';
import {
  actionResult,
  commandText,
  nodeCommand,
  type RunRelet,
  readJsonText,
  rehearseWords,
  runCommand,
  setCommand,
} from './commands.js';
import { payloadDiff } from './config-diff.js';
import { configDetails, listConfigs } from './configs-page.js';
import { asJson, readJson } from './http.js';
import { nodeDetails, nodeDiff } from './node-page.js';
import { badRequest, problemOf, RequestProblem } from './problem.js';
import { labelsOf, selectionOf } from './selection.js';
import type { Session } from './sessions.js';
import { setDetails } from './set-page.js';
import { timelineOf } from './timeline.js';
import { baseIn, checkBase, manifestIn, writeSet } from './write-set.js';

export interface RouteContext {
  session: Session;
  /** The values of `*` in the path of the route. */
  names: string[];
  query: URLSearchParams;
  request: IncomingMessage;
  response: ServerResponse;
  /** Fires when the browser has gone, or the session ended. */
  signal: AbortSignal;
  run: RunRelet;
  clock: Clock;
  readOnly: boolean;
  version: string;
}

type Answer = Promise<unknown> | unknown;
export interface Route {
  method: 'GET' | 'POST';
  /** Below `api/`; `*` is one segment. */
  path: string[];
  /** Undefined: it has answered itself. */
  answer(context: RouteContext): Answer;
}

const route = (method: Route['method'], path: string, answer: Route['answer']): Route => ({
  method,
  path: path.split('/'),
  answer,
});

export const routes: readonly Route[] = [
  route('GET', 'me', ({ session, readOnly, version }) => meOf(session, { readOnly, version })),
  route('GET', 'nodes/*', ({ session, names, signal }) => nodeDetails(session, objectName(names[0]!), signal)),
  route('GET', 'nodes/*/diff', ({ session, names, query, signal }) =>
    nodeDiff(session, objectName(names[0]!), { from: param(query, 'from'), to: param(query, 'to'), signal }),
  ),
  route('POST', 'nodes/*/*', changeNode),
  route('POST', 'sets/plan', planSet),
  route('POST', 'sets/rehearse', rehearseSet),
  route('POST', 'sets', startSet),
  route('GET', 'sets/*', ({ session, names, signal, clock }) =>
    setDetails(session, objectName(names[0]!), { nowMs: clock.now(), signal }),
  ),
  route('POST', 'sets/*/*', steerSet),
  route('GET', 'configs', ({ session, signal }) => listConfigs(session, signal)),
  route('GET', 'configs/diff', diffConfigs),
  route('GET', 'configs/*/*', ({ session, names, signal, clock }) => {
    const [namespace, name] = [names[0]!, objectName(names[1]!)];
    if (checkDnsLabel(namespace).length > 0) throw badRequest('This cannot be the name of a namespace.');
    return configDetails(session, { namespace, name, signal, nowMs: clock.now() });
  }),
  route('GET', 'select', async ({ session, query, signal }) => {
    await session.view.listed(signal);
    return selectionOf(session.view.nodes.values(), query.get('selector') ?? '');
  }),
  route('GET', 'labels', async ({ session, signal }) => {
    await session.view.listed(signal);
    return labelsOf(session.view.nodes.values());
  }),
  route('GET', 'timeline', async ({ session, query, signal, clock }) => {
    const hours = Number(query.get('hours') ?? 24);
    if (!(hours >= 1 && hours <= 24 * 366)) throw badRequest("'hours' must be a number from 1 to 8784.");
    await session.view.listed(signal);
    const to = clock.now();
    return timelineOf(session.view.nodes.values(), { from: to - hours * 3_600_000, to });
  }),
  route('GET', 'upgrade-check', checkUpgrade),
];

/** The first that fits, with the values of its stars. */
export function findRoute(method: string, segments: readonly string[]): { route: Route; names: string[] } | undefined {
  for (const one of routes) {
    if (one.method !== method || one.path.length !== segments.length) continue;
    if (!one.path.every((part, at) => part === '*' || part === segments[at])) continue;
    return { route: one, names: segments.filter((_, at) => one.path[at] === '*') };
  }
  return undefined;
}

export function meOf(session: Session, { readOnly, version }: { readOnly: boolean; version: string }): Me {
  const { client, references, person, csrf, kubernetes, may, login } = session;
  const { contextName, server } = client.connection;
  return {
    ...person,
    readOnly,
    csrf,
    login,
    server: { version, kubernetes },
    cluster: { mode: references.kind, name: contextName || new URL(server).host },
    may,
  };
}

function objectName(name: string): string {
  if (checkDnsSubdomain(name).length > 0) throw badRequest('This cannot be the name of an object.');
  return name;
}

function param(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === '') throw badRequest(`The parameter '${name}' is missing.`);
  return value;
}

/** Longer than a change of one node takes without waiting for it. */
const changeMs = 60_000;
const planMs = 120_000;
const rehearseMs = 600_000;

const notOffered = (): never => {
  throw new RequestProblem(403, {
    reason: 'ReadOnly',
    message: 'This dashboard only shows; it was started with --read-only.',
    remedy: 'Copy the command and run it in a terminal.',
  });
};

async function changeNode(context: RouteContext): Promise<ActionResult> {
  if (context.readOnly) notOffered();
  const [name, verb] = context.names as [string, string];
  const command = nodeCommand(verb, name, await readJson(context.request));
  return actionResult(command, await runFor(context, [...command.words, ...command.more], { timeoutMs: changeMs }));
}

async function steerSet(context: RouteContext): Promise<ActionResult> {
  if (context.readOnly) notOffered();
  const [name, verb] = context.names as [string, string];
  const command = setCommand(verb, name, await readJson(context.request));
  return actionResult(command, await runFor(context, [...command.words, ...command.more], { timeoutMs: changeMs }));
}

const runFor = ({ run, session }: RouteContext, args: string[], options: { timeoutMs: number; stdin?: string }) =>
  runCommand(run, session, args, options);

async function startSet({ readOnly, request, session, signal }: RouteContext): Promise<ActionResult> {
  if (readOnly) notOffered();
  return writeSet({ client: session.client, signal }, await readJson(request));
}

async function planSet(context: RouteContext): Promise<PlanAnswer> {
  const body = await readJson(context.request);
  const stdin = manifestIn(body);
  const base = baseIn(body);
  if (base !== undefined) await checkBase({ client: context.session.client, signal: context.signal }, base);
  const words = ['rollout', 'plan', '-', '-o', 'json'];
  const { stdout, stderr } = await runFor(context, words, { timeoutMs: planMs, stdin });
  const plan = readJsonText(stdout);
  const command = commandText(['rollout', 'plan', 'set.yaml']);
  return isObject(plan) ? { command, plan } : { command, problem: problemText(stderr) };
}

const problemText = (stderr: string): string =>
  stderr
    .replace(/^relet: /gm, '')
    .trim()
    .slice(0, 4000);

/** Lines of JSON while it runs; the browser ends it by going away. */
async function rehearseSet(context: RouteContext): Promise<undefined> {
  const { session, run, response, signal, request } = context;
  const body = await readJson(request);
  const stdin = manifestIn(body);
  const words = rehearseWords(body);
  const send = (line: RehearsalLine) => {
    // A slow reader goes without progress, never without the result.
    const isTooLate = line.kind === 'progress' && response.writableLength > 1024 * 1024;
    if (!response.destroyed && !isTooLate) response.write(`${asJson(line)}\n`);
  };
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'x-accel-buffering': 'no' });
  send({ kind: 'started', command: commandText(words.map((word) => (word === '-' ? 'set.yaml' : word))) });
  try {
    const { stdout, stderr } = await runCommand(run, session, [...words, '--progress=json', '-o', 'json'], {
      timeoutMs: rehearseMs,
      stdin,
      signal,
      onLine: (text) => send({ kind: 'progress', text: text.slice(0, 1000) }),
    });
    const result = readJsonText(stdout);
    if (result !== undefined) send({ kind: 'result', result });
    else send({ kind: 'problem', problem: { reason: 'RehearsalFailed', message: problemText(stderr) } });
  } catch (error) {
    const known = problemOf(error);
    if (known === undefined) throw error;
    send({ kind: 'problem', problem: known.problem });
  }
  response.end();
  return undefined;
}

/** `a` and `b`: NAMESPACE/NAME of a ConfigMap, with /KEY where it has several. */
async function diffConfigs({ session, query, signal }: RouteContext) {
  const read = async (word: string) => {
    const [namespace = '', name = '', key] = word.split('/');
    const cluster = { client: session.client, signal, namespace };
    return { name: word, text: (await findConfigMap(cluster, `${namespace}/${name}`, key)).text };
  };
  const [a, b] = await Promise.all([read(param(query, 'a')), read(param(query, 'b'))]);
  return payloadDiff(a, b, query.get('kubelet') ?? undefined);
}

async function checkUpgrade(context: RouteContext): Promise<UpgradeAnswer> {
  const to = param(context.query, 'to');
  if (!/^v?1\.\d{1,2}(\.\d{1,3})?$/.test(to)) throw badRequest("'to' must be a version such as 1.37.");
  const words = ['config', 'upgrade-check', '--all', '--to', to];
  const { stdout, stderr } = await runFor(context, [...words, '-o', 'json'], { timeoutMs: planMs });
  const reports = readJsonText(stdout);
  const command = commandText(words);
  return reports === undefined ? { command, problem: problemText(stderr) } : { command, reports };
}
