/** What a real kube-apiserver answered, one interaction a line; see README-api.md beside the records. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Request {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  rawBody?: string;
  as?: string;
  saves?: Record<string, string>;
  watch?: boolean;
  during?: Request[];
}

export interface Interaction {
  id: string;
  area: string;
  request: Request;
  expected: {
    status: number;
    headers?: Record<string, string>;
    body?: unknown;
    events?: unknown[];
    during?: number[];
    endedByServer?: boolean;
  };
}

const evidence = join(import.meta.dirname, '../../../shared/evidence');

/** Undefined where the records are not beside the checkout. */
export function evidencePath(...names: string[]): string | undefined {
  const path = join(evidence, ...names);
  return existsSync(path) ? path : undefined;
}

export function readRecord(name: string): Interaction[] {
  const path = evidencePath(name);
  if (path === undefined) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Interaction);
}

/** Interactions of one scenario ran in order in a namespace of their own. */
export function scenarios(record: Interaction[]): Map<string, Interaction[]> {
  const found = new Map<string, Interaction[]>();
  for (const interaction of record) {
    const name = interaction.id.split('/')[0]!;
    if (!found.has(name)) found.set(name, []);
    found.get(name)!.push(interaction);
  }
  return found;
}
