/** Replays answers of a real kube-apiserver, which must be the same here: every interaction of two records, share by share. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEvidence } from './evidence/read.js';
import type { Interaction } from './replay/record.js';
import { type Result, replay, type Share, shares } from './replay/replay.js';
import { type ReplayServer, startReplayServer } from './replay/server.js';

const dynamicConfig = 'api-v1.23-dkc.jsonl';
const everything = 'api-v1.32.jsonl';

function print(title: string, results: Result[]): void {
  const percent = (part: number, total: number) => `${((100 * part) / total).toFixed(1)} %`.padStart(8);
  const line = ({ area, total, statuses, answers }: Share) =>
    `${area.padEnd(18)}${`${total}`.padStart(4)}  codes ${percent(statuses, total)}  answers ${percent(answers, total)}`;
  console.log([title, ...shares(results).map(line)].join('\n'));
  if (process.env.RELET_REPLAY_VERBOSE === undefined) return;
  for (const { id, difference } of results) if (difference !== undefined) console.log(`${id}\n    ${difference}`);
}

function shareOf(results: Result[], area: string): { codes: number; answers: number } {
  const { total, statuses, answers } = shares(results).find((share) => share.area === area)!;
  return { codes: statuses / total, answers: answers / total };
}

describe(`replay of ${dynamicConfig}`, () => {
  let server: ReplayServer;
  let results: Result[];
  beforeAll(async () => {
    server = await startReplayServer();
    results = await replay(readEvidence<Interaction>(dynamicConfig), server);
    print(dynamicConfig, results);
  });
  afterAll(() => server.close());

  test('every status code is the same', () => {
    expect(results.filter(({ sameStatus }) => !sameStatus)).toEqual([]);
  });

  test('at least 95 % of the answers are the same', () => {
    expect(shareOf(results, 'all').answers).toBeGreaterThanOrEqual(0.95);
  });
});

describe(`replay of ${everything}`, () => {
  let server: ReplayServer;
  let results: Result[];
  beforeAll(async () => {
    // The recorded server was one that drops dynamic configuration.
    server = await startReplayServer({ dynamicKubeletConfig: false });
    results = await replay(readEvidence<Interaction>(everything), server);
    print(everything, results);
  });
  afterAll(() => server.close());

  test('every status code is the same', () => {
    expect(results.filter(({ sameStatus }) => !sameStatus)).toEqual([]);
  });

  test('as many answers are the same as docs/api-differences.md says', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/api-differences.md'), 'utf8');
    const claim = /of (\d+) requests all get the same status code and (\d+) the same answer/.exec(
      page.replace(/\s+/g, ' '),
    );
    const { total, answers } = shares(results).find(({ area }) => area === 'all')!;
    expect([total, answers].map(String)).toEqual(claim?.slice(1));
  });
});
