/** Reads what real kubelets and API servers answered; README.md beside this says what the files hold. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const readEvidence = <Line>(name: string): Line[] =>
  readFileSync(join(import.meta.dirname, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** Reaction of a kubelet to a document. */
export interface OracleAnswer {
  verdict: 'accepted' | 'decode-error' | 'validate-error' | 'other';
  stage: string;
  message: string;
  messageVariants?: string[];
  warnings: string;
  startup?: 'started' | 'failed';
  startupMessage?: string;
  effective?: Record<string, unknown>;
}

export interface OracleDocument {
  id: string;
  payload: string;
  flags: string[];
  hostDependent?: boolean;
}

export type OracleCase = OracleDocument & Record<'v1.23' | 'v1.32' | 'v1.36' | 'v1.37', OracleAnswer>;
export type NewerOracleCase = OracleDocument & Record<'v1.36' | 'v1.37', OracleAnswer>;

export const oracleCases = (): OracleCase[] => readEvidence('oracle.jsonl');

/** Without the internal version, which relet refuses to read. */
export const readableOracleCases = (): OracleCase[] => oracleCases().filter(({ id }) => id !== 'gvk/internal');

/** At the limits of what Go reads: the document is each part so many times, one after the other. */
export interface LimitCase {
  id: string;
  parts: [text: string, times: number][];
  'v1.37': Pick<OracleAnswer, 'verdict' | 'stage' | 'message' | 'effective'>;
}

export const limitCases = (): (LimitCase & { payload: string })[] =>
  readEvidence<LimitCase>('oracle-limits.jsonl').map((one) => ({
    ...one,
    payload: one.parts.map(([text, times]) => text.repeat(times)).join(''),
  }));

/** About what only 1.33 and later have. */
export const newerOracleCases = (): NewerOracleCase[] => readEvidence('oracle-newer.jsonl');
