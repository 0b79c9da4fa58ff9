/** Routes of the API, one line per path. A route gets the session, and throws a problem if it cannot answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkDnsLabel, checkDnsSubdomain } from '../../api/names.js';
import type { Clock } from '../../clock.js';
import { isObject } from '../../json.js';
import type { ActionResult, Me, PlanAnswer, RehearsalLine, RolloutPlan, UpgradeAnswer } from '../wire.js';
import type { AnswerArguments, AnswerName } from './answers.js';
import type { Children } from './children.js';
import { actionResult, commandText, nodeCommand, readJsonText, rehearseWords, setCommand } from './commands.js';
import { configDetails, listConfigs } from './configs-page.js';
import { asJson, type JsonText, readJson } from './http.js';
import { badRequest, problemOf, RequestProblem } from './problem.js';
import { labelsOf, selectionOf } from './selection.js';
import type { Session } from './sessions.js';
import { timelineOf } from './timeline.js';
import { baseIn, checkBase, manifestIn } from './write-set.js';

export interface RouteContext {
  session: Session;
  /** The values of `*` in the path of the route. */
  names: string[];
  query: URLSearchParams;
  request: IncomingMessage;
  response: ServerResponse;
  /** Fires when the browser has gone, or the session ended. */
  signal: AbortSignal;
  children: Children;
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
  route('GET', 'nodes/*', (context) => answer(context, 'node', { name: objectName(context.names[0]!) })),
  route('GET', 'nodes/*/diff', (context) => {
    const { names, query } = context;
    const name = objectName(names[0]!);
    return answer(context, 'nodeDiff', { name, from: param(query, 'from'), to: param(query, 'to') });
  }),
  route('POST', 'nodes/*/*', changeNode),
  route('POST', 'sets/plan', planSet),
  route('POST', 'sets/rehearse', rehearseSet),
  route('POST', 'sets', startSet),
  route('GET', 'sets/*', (context) => answer(context, 'set', { name: objectName(context.names[0]!) })),
  route('POST', 'sets/*/*', steerSet),
  route('GET', 'configs', ({ session, signal }) => listConfigs(session, signal)),
  route('GET', 'configs/diff', (context) => {
    const { query } = context;
    const kubelet = query.get('kubelet') ?? undefined;
    return answer(context, 'configDiff', { a: param(query, 'a'), b: param(query, 'b'), kubelet });
  }),
  route('GET', 'configs/*/*', async (context) => {
    const { session, names, signal, clock } = context;
    const [namespace, name] = [names[0]!, objectName(names[1]!)];
    if (checkDnsLabel(namespace).length > 0) throw badRequest('This cannot be the name of a namespace.');
    const found = await answer(context, 'configDocuments', { namespace, name });
    return configDetails(session, found.read(), { signal, nowMs: clock.now() });
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
  route('GET', 'inventory', (context) => readFleet(context, 'inventory')),
  route('GET', 'audit', (context) => readFleet(context, 'audit')),
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

/** Not ended when the browser goes away: nobody would know how far a change came. */
const runFor = ({ children, session }: RouteContext, args: string[], options: { timeoutMs: number; stdin?: string }) =>
  children.run({ session, args, kind: 'command', ...options });

const answer = <Name extends AnswerName>(
  { children, ...context }: RouteContext,
  name: Name,
  given: AnswerArguments<Name>,
) => children.answer(context, name, given);

/** Takes as long as a kubelet that does not answer. */
const readFleet = ({ children, ...context }: RouteContext, name: 'inventory' | 'audit') =>
  children.answer(context, name, { user: context.session.person.user }, { kind: 'command', timeoutMs: planMs });

async function startSet(context: RouteContext): Promise<JsonText<ActionResult>> {
  if (context.readOnly) notOffered();
  return answer(context, 'writeSet', { body: await readJson(context.request) });
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
  // Printed by this very version of relet.
  return isObject(plan) ? { command, plan: plan as unknown as RolloutPlan } : { command, problem: problemText(stderr) };
}

const problemText = (stderr: string): string =>
  stderr
    .replace(/^relet: /gm, '')
    .trim()
    .slice(0, 4000);

/** Lines of JSON while it runs; the browser ends it by going away. */
async function rehearseSet(context: RouteContext): Promise<undefined> {
  const { session, children, response, signal, request } = context;
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
    const { stdout, stderr } = await children.run({
      session,
      args: [...words, '--progress=json', '-o', 'json'],
      kind: 'rehearsal',
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

async function checkUpgrade(context: RouteContext): Promise<UpgradeAnswer> {
  const to = param(context.query, 'to');
  if (!/^v?1\.\d{1,2}(\.\d{1,3})?$/.test(to)) throw badRequest("'to' must be a version such as 1.37.");
  const words = ['config', 'upgrade-check', '--all', '--to', to];
  const { stdout, stderr } = await runFor(context, [...words, '-o', 'json'], { timeoutMs: planMs });
  const reports = readJsonText(stdout);
  const command = commandText(words);
  return reports === undefined ? { command, problem: problemText(stderr) } : { command, reports };
}
