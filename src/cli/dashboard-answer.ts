/**
 * `relet __answer`, for the dashboard only: reads a query from standard input, computes the answer with the credential of the
 * kubeconfig, and prints it as JSON. The server runs it as a child process, with a limit of time and memory.
 */
import { text } from 'node:stream/consumers';
import pkg from '../../package.json' with { type: 'json' };
import { systemClock } from '../clock.js';
import { type Question, reply } from '../dashboard/server/answers.js';
import { referencesOfKind } from '../fleet/config-references.js';
import { createClient } from '../kube/client.js';
import { systemRandom } from '../random.js';
import { identitySource } from './session.js';
import { writeDocument } from './terminal/terminal.js';

export async function run([kubeconfig = '']: string[]): Promise<void> {
  const { name, arguments: given, mode, may }: Question = JSON.parse(await text(process.stdin));
  const client = createClient({
    source: identitySource({ kubeconfig: kubeconfig.replace('--kubeconfig=', '') }),
    clock: systemClock,
    random: systemRandom,
    userAgent: `relet/${pkg.version} (dashboard)`,
    env: process.env,
  });
  const { signal } = new AbortController();
  const reader = { client, references: referencesOfKind(client, mode), may, nowMs: systemClock.now(), signal };
  try {
    writeDocument(await reply(reader, { name, arguments: given }));
  } finally {
    client.close();
  }
}
