/** Replays a record against a server and says, interaction by interaction, what came out otherwise than recorded. */
import { compareBody, compareEvents } from './digest.js';
import { difference } from './pattern.js';
import { type Interaction, type Request, scenarios } from './record.js';
import { type Answer, type ReplayTarget, Session, type WatchAnswer } from './session.js';

export interface Result {
  id: string;
  area: string;
  sameStatus: boolean;
  /** Difference in status, headers or body; undefined if there is none. */
  difference?: string;
}

export async function replay(record: Interaction[], target: ReplayTarget): Promise<Result[]> {
  const results: Result[] = [];
  for (const [name, interactions] of scenarios(record)) {
    const session = new Session(target, `apidiff-${name}`);
    await prepare(session, `apidiff-${name}`);
    for (const step of leftOut[name] ?? []) await session.send(step);
    const sent = name === 'node-proxy' ? onThisMachine(interactions) : interactions;
    for (const interaction of sent) results.push(await replayOne(session, interaction));
    session.close();
  }
  return results;
}

/** Nothing listened on the address of the recorded Node. On another network something may, so nothing leaves this machine. */
const onThisMachine = (interactions: Interaction[]): Interaction[] =>
  JSON.parse(JSON.stringify(interactions).replaceAll('198.18.77.10', '127.0.0.1'));

/** Steps that the records leave out although later ones need them. */
const leftOut: Record<string, Request[]> = {
  'node-writes': [
    {
      method: 'POST',
      path: '/api/v1/namespaces/{{ns}}/events',
      body: {
        metadata: { name: 'e' },
        involvedObject: { kind: 'Node', name: 'node-a', namespace: '{{ns}}' },
        reason: 'R',
        type: 'Normal',
        count: 1,
      },
    },
  ],
};

/** A namespace with its default ServiceAccount. */
async function prepare(session: Session, name: string): Promise<void> {
  const make = (path: string, kind: string, metadata: object) =>
    session.send({ method: 'POST', path, body: { apiVersion: 'v1', kind, metadata } });
  await make('/api/v1/namespaces', 'Namespace', { name });
  await make(`/api/v1/namespaces/${name}/serviceaccounts`, 'ServiceAccount', { name: 'default' });
}

async function replayOne(session: Session, { id, area, request, expected }: Interaction): Promise<Result> {
  const answer =
    request.watch === true ? await session.watch(request, (expected.events ?? []).length) : await session.send(request);
  save(session, request.saves ?? {}, answer);
  const found =
    answer.status === expected.status
      ? compareAnswer(answer, expected)
      : `status: got ${answer.status}, want ${expected.status} ${answer.text.slice(0, 300)}`;
  return {
    id,
    area,
    sameStatus: answer.status === expected.status,
    ...(found === undefined ? {} : { difference: found }),
  };
}

function compareAnswer(answer: Answer | WatchAnswer, expected: Interaction['expected']): string | undefined {
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    const found = difference(answer.headers[name] ?? '', value, name);
    if (found !== undefined) return found;
  }
  if (expected.events !== undefined && 'events' in answer)
    return difference(answer.during, expected.during ?? [], 'during') ?? compareEvents(answer.events, expected.events);
  if (expected.body === undefined || expected.body === null) return undefined;
  return compareBody(parse(answer.text), expected.body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Values that later requests of the scenario use. */
function save(session: Session, saves: Record<string, string>, answer: Answer): void {
  for (const [name, from] of Object.entries(saves)) {
    const body = parse(answer.text);
    if (name === 'etag') session.save(name, answer.headers.etag ?? '');
    else if (name === 'old') session.save(name, setBack(String(valueAt(body, 'metadata.continue') ?? '')));
    else session.save(name, String(valueAt(body, from) ?? ''));
  }
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);
}

/** A continue token whose revision is 1, if it is of the form that Kubernetes has. */
function setBack(token: string): string {
  try {
    const content = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
    return 'rv' in content ? Buffer.from(JSON.stringify({ ...content, rv: 1 })).toString('base64url') : token;
  } catch {
    return token;
  }
}

export interface Share {
  area: string;
  total: number;
  statuses: number;
  answers: number;
}

export function shares(results: Result[]): Share[] {
  const areas = [...new Set(results.map(({ area }) => area))].sort();
  return [...areas, 'all'].map((area) => {
    const own = results.filter((result) => area === 'all' || result.area === area);
    return {
      area,
      total: own.length,
      statuses: own.filter(({ sameStatus }) => sameStatus).length,
      answers: own.filter((result) => result.difference === undefined).length,
    };
  });
}
