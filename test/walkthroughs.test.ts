/** The walkthroughs in examples/ do what the Kubernetes pages say, with the oldest and the newest kubectl that can be had. */
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from './free-port.js';
import { Program } from './program.js';
import { needs } from './programs.js';
import { type Client, findClients } from './replay/kubectl.js';
import { executable } from './run-relet.js';

const minorOf = ({ version }: Client) => Number(version.split('.')[1]);
const clients = findClients().sort((a, b) => minorOf(a) - minorOf(b));
const chosen = [...new Set([clients[0], clients.at(-1)])].filter((client) => client !== undefined);
const programs = needs('kubectl', 'curl', 'jq', 'bash');

/** A PATH on which `kubectl` is the chosen client and `relet` what was built here. */
function pathWith(client: Client): string {
  const dir = mkdtempSync(join(tmpdir(), 'relet-walk-'));
  symlinkSync(client.path, join(dir, 'kubectl'));
  writeFileSync(join(dir, 'relet'), `#!/bin/sh\nexec '${process.execPath}' '${executable}' "$@"\n`);
  chmodSync(join(dir, 'relet'), 0o755);
  return dir;
}

async function walk(script: string, client: Client): Promise<{ status: number | null; output: string }> {
  const bin = pathWith(client);
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    PROXY_PORT: String(await freePort()),
    PATIENCE: '120',
  };
  const bash = new Program('bash', [join(import.meta.dirname, '..', 'examples', script)], { env });
  const { status } = await bash.ended;
  rmSync(bin, { recursive: true, force: true });
  return { status, output: bash.output };
}

describe.skipIf(programs.isMissing)(`walkthroughs${programs.note}`, () => {
  // Each has a system of its own and mostly waits, so they run at once.
  for (const script of ['walkthrough-beta.sh', 'walkthrough-alpha.sh'])
    for (const client of chosen)
      test.concurrent(`${script} with kubectl ${client.version}`, async () => {
        const { status, output } = await walk(script, client);
        expect(output).toContain('All of it was as the page says');
        expect(status).toBe(0);
      }, 600_000);
});
