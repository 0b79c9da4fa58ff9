/**
 * Child processes of the server: relet itself, with the credential of the session and a limit of time, memory and output. They run the
 * commands of the buttons, and queries that decode or compare untrusted content (answers.ts), so that no text, however long it takes,
 * keeps the server from answering others.
 */
import type { Connection } from '../../kube/connection.js';
import type { Problem } from '../wire.js';
import { hasRights } from './access.js';
import { type AnswerArguments, type AnswerName, type answers, type Question, readReply } from './answers.js';
import { JsonText } from './http.js';
import type { Places, Work } from './places.js';
import { RequestProblem } from './problem.js';
import type { Session } from './sessions.js';

export interface RunOptions {
  /** The text of a kubeconfig; the child gets it as a file that only this user can read, and that is removed afterwards. */
  kubeconfig: string;
  stdin?: string;
  timeoutMs: number;
  /** The most that the process may use. */
  memoryMB: number;
  signal: AbortSignal;
  /** Receives standard error, as it arrives. */
  onLine?(line: string): void;
}

export interface RunResult {
  /** 2 where it could not be started or was ended. */
  code: number;
  stdout: string;
  stderr: string;
  /** Why it was ended before it was done. */
  ended?: string;
}

/** Never throws for what the command does. */
export type RunRelet = (args: string[], options: RunOptions) => Promise<RunResult>;

export interface Child extends Pick<RunOptions, 'stdin' | 'timeoutMs' | 'onLine'> {
  session: Session;
  args: string[];
  kind: Work;
  signal?: AbortSignal;
}

export class Children {
  readonly #run: RunRelet;
  readonly #places: Places;

  constructor(run: RunRelet, places: Places) {
    this.#run = run;
    this.#places = places;
  }

  /** With the credential of the session. Throws a problem where there is no place, or the login has no rights. */
  async run({ session, args, kind, signal: given, ...options }: Child): Promise<RunResult> {
    checkRights(session);
    const { signal: over } = session.over;
    const signal = given ? AbortSignal.any([given, over]) : over;
    return this.#places.within({ person: session.owner, kind, signal }, (memoryMB) =>
      this.#run(args, { ...options, memoryMB, signal, kubeconfig: kubeconfigOf(session.client.connection) }),
    );
  }

  /** An answer that is computed in a child, as it has printed it. Throws the problem that it found, or a problem where it took too much. */
  async answer<Name extends AnswerName>(
    { session, signal }: { session: Session; signal: AbortSignal },
    name: Name,
    given: AnswerArguments<Name>,
    { kind = 'answer', timeoutMs = answerMs }: Partial<Pick<Child, 'kind' | 'timeoutMs'>> = {},
  ): Promise<JsonText<Awaited<ReturnType<(typeof answers)[Name]>>>> {
    const question: Question = { name, arguments: given, mode: session.references.kind, may: session.may };
    const stdin = JSON.stringify(question);
    const child: Child = { session, signal, kind, args: [answerVerb], stdin, timeoutMs };
    const { stdout, stderr, ended } = await this.run(child);
    // A part may have been printed already.
    if (ended !== undefined)
      throw new RequestProblem(503, {
        reason: 'TooMuchWork',
        message: `This was too much work for the server: ${ended}.`,
        remedy:
          "Run the command in a terminal, where it has no limit: 'relet diff', 'relet describe', 'relet inventory' …",
      });
    const { status, text } = readReply(stdout);
    if (status === undefined) throw new Error(`the answer '${name}' failed: ${stderr}`);
    if (status !== 200) throw new RequestProblem(status, JSON.parse(text) as Problem);
    return new JsonText(text);
  }
}

/** Not for people: `relet __answer` reads a question from standard input. */
const answerVerb = '__answer';
const answerMs = 20_000;

/** Any token of the cluster logs in, that of a pod too. */
function checkRights({ may, person: { user } }: Session): void {
  if (hasRights(may)) return;
  throw new RequestProblem(403, {
    reason: 'NoRights',
    message: `${user} may see and change nothing of relet, so the server runs nothing for this login.`,
    remedy: 'Ask an administrator of the cluster for a role of relet, such as the ClusterRole relet:viewer.',
  });
}

/** JSON, which is YAML. Paths in it are absolute. */
export function kubeconfigOf({ server, cluster, user, namespace }: Connection): string {
  const name = 'dashboard';
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...cluster, server } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    'current-context': name,
  });
}
