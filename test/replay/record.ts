/** Answers of a real kube-apiserver, one interaction a line; see test/evidence/api.md. */
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
