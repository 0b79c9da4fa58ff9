/** Real kubectl clients print here what they print against a real kube-apiserver: recorded command lines, version by version. */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findClients, shell } from './replay/kubectl.js';
import { stepsBefore, stepsFirst } from './replay/kubectl-steps.js';
import { startReplayServer } from './replay/server.js';
import { readTranscripts, unlike } from './replay/transcript.js';

/** Too large for a clone; see test/evidence/README.md. */
const folder = join(import.meta.dirname, '../../shared/evidence/kubectl');
const records = existsSync(folder) ? folder : undefined;
const clients = records === undefined ? [] : findClients();
const recorded =
  records === undefined ? [] : readdirSync(records).flatMap((name) => /^client-(.*)$/.exec(name)?.[1] ?? []);

describe.skipIf(records === undefined)(
  'replay of kubectl (skipped where the records are not beside the checkout)',
  () => {
    for (const version of recorded) {
      const client = clients.find((entry) => entry.version === version);
      const why = client === undefined ? ' (skipped: no such kubectl on PATH or in RELET_KUBECTL_DIRS)' : '';
      test.skipIf(client === undefined)(
        `kubectl ${version}: at least 90 % of the command lines print the same${why}`,
        async () => {
          const differences = await replay(version, client!);
          const total = readTranscripts(join(records!, `client-${version}`)).length;
          const same = total - differences.length;
          console.log(`kubectl ${version}: ${same} of ${total} the same (${((100 * same) / total).toFixed(1)} %)`);
          if (process.env.RELET_REPLAY_VERBOSE !== undefined) console.log(differences.join('\n\n'));
          expect(same / total).toBeGreaterThanOrEqual(0.9);
        },
        300_000,
      );
    }
  },
);

async function replay(version: string, client: { version: string; path: string }): Promise<string[]> {
  const server = await startReplayServer({ dynamicKubeletConfig: false });
  const folder = mkdtempSync(join(tmpdir(), 'relet-kubectl-'));
  cpSync(join(records!, 'files'), folder, { recursive: true });
  const run = shell({ client, kubeconfig: server.kubeconfig, folder });
  const differences: string[] = [];
  for (const step of stepsFirst) await run(step);
  for (const transcript of readTranscripts(join(records!, `client-${version}`))) {
    for (const step of stepsBefore[transcript.name] ?? []) await run(step);
    const found = unlike(await run(transcript.command), transcript);
    if (found !== undefined) differences.push(`${transcript.name}\n${found}`);
  }
  rmSync(folder, { recursive: true, force: true });
  await server.close();
  return differences;
}
