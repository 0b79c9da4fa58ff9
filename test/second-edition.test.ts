/**
 * A lab directory of the second edition (commit 568b245) continues under this edition: its nodes keep what they run, a trial ends,
 * sets continue in the middle of a rollout, history is read. Then the second edition starts on it again.
 * test/fixtures/second-edition/README.md describes the directory.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstAddressFor } from '../src/lab/up/network.js';
import { eventually } from './eventually.js';
import { runRelet } from './program.js';
import { cannotBuild, unpackEdition } from './rig/edition.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const commit = '568b245';
const fixture = join(import.meta.dirname, 'fixtures/second-edition/lab.tar.gz');
const first = 'relet-system/kubelet-config-5dttktm6k9/kubelet';
const second = 'relet-system/kubelet-config-t7m789hg2h/kubelet';

/** A copy of the lab directory, in which relet runs. */
class OldLab {
  readonly #home = mkdtempSync(join(tmpdir(), 'relet-second-edition-'));
  readonly dir = join(this.#home, '.relet');

  constructor() {
    mkdirSync(this.dir);
    expect(spawnSync('tar', ['-xzf', fixture, '-C', this.dir]).status).toBe(0);
    // Another copy of the directory may run on this machine.
    const settings = join(this.dir, 'system.json');
    const { network, ...rest } = JSON.parse(readFileSync(settings, 'utf8'));
    const moved = { ...network, firstAddress: firstAddressFor(this.dir) };
    writeFileSync(settings, JSON.stringify({ ...rest, network: moved }));
  }

  async relet(words: string, { relet = executable, exits = 0 } = {}): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: this.#home, KUBECONFIG: join(this.dir, 'admin.kubeconfig') };
    const { status, stdout, stderr } = await runRelet(words.split(' '), { env, cwd: this.#home }, relet);
    expect(status, `relet ${words}\n${stdout}${stderr}`).toBe(exits);
    return stdout;
  }

  up = (relet?: string) => this.relet('up --port 0 --no-dashboard --trial-duration 5s --detach', { relet });

  /** The state of each node, and the ConfigMap that it runs. */
  async nodes(relet?: string): Promise<Record<string, string>> {
    const rows = (await this.relet('get --no-headers', { relet })).trim().split('\n');
    const cells = rows.map((row) => row.split(/ {3,}/));
    return Object.fromEntries(cells.map(([node, state, , , active]) => [node, `${state}: ${active}`]));
  }

  async remove(): Promise<void> {
    await this.relet('down');
    rmSync(this.#home, { recursive: true, force: true });
  }
}

describe('a lab directory of the second edition, under this edition', () => {
  let lab: OldLab;
  beforeAll(async () => {
    lab = new OldLab();
    await lab.up();
  });
  afterAll(() => lab?.remove());

  test('the history of a node has who, why, from and to', async () => {
    const entries = JSON.parse(await lab.relet('history node-4 -o json'));
    expect(entries).toMatchObject([
      { revision: 2, by: 'kubernetes-admin', verb: 'set', why: 'even more', from: first, to: second },
      { revision: 1, by: 'kubernetes-admin', verb: 'set', why: 'more pods', from: 'local', to: first },
    ]);
  });

  test('a node in the middle of a trial keeps what it runs, and its trial ends', async () => {
    expect((await lab.nodes())['node-4']).toMatch(/^(trial (.* left|ending)|active): kubelet-config-t7m789hg2h$/);
    await lab.relet('wait node-4 --for=lastKnownGood');
    expect((await lab.nodes())['node-4']).toBe('active: kubelet-config-t7m789hg2h');
  });

  test('a set that waits for approval continues with it, and completes', async () => {
    const before = JSON.parse(await lab.relet('rollout status pool -o json', { exits: 3 }));
    expect(before).toMatchObject({ reason: 'AwaitingApproval', status: { updateRevision: 'ad7dfaa808' } });
    await lab.relet('rollout approve pool --wave 1 --yes');
    await lab.relet('rollout status pool -w --timeout 120s');
    const nodes = await lab.nodes();
    expect(nodes['node-2']).toBe(nodes['node-1']);
  });

  test('a set with a failed node is stopped, and a corrected config completes it', async () => {
    expect((await lab.nodes())['node-3']).toBe('rolled back: local');
    expect(await lab.relet('describe node-3')).toContain('exit at start was requested');
    await lab.relet('set --as-set broken maxPods=67 --yes');
    // An approval names a revision: before the controller has seen the spec, it would name the one that failed.
    await eventually('the corrected revision awaits approval', async () => {
      const { reason } = JSON.parse(await lab.relet('rollout status broken -o json', { exits: 3 }));
      return reason === 'AwaitingApproval';
    });
    await lab.relet('rollout approve broken --wave 1 --yes');
    await lab.relet('rollout status broken -w --timeout 120s');
    expect((await lab.nodes())['node-3']).toMatch(/^active: broken-/);
  });
});

describe('records that this edition wrote', () => {
  const reason = cannotBuild(commit);
  test.skipIf(reason !== undefined)(
    `the second edition starts on them again${reason ? ` (skipped: ${reason})` : ''}`,
    async () => {
      const lab = new OldLab();
      const old = temporaryDir();
      try {
        unpackEdition(commit, old);
        // The library and its types are built from it, and not used here.
        rmSync(join(old, 'src/config/index.ts'));
        expect(spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: old }).status).toBe(0);
        const relet = join(old, 'bin/relet.cjs');
        await lab.up();
        await lab.relet('set node-2 podsPerCore=9 --yes -m back');
        await lab.relet('wait node-2 --for=lastKnownGood');
        await lab.relet('wait node-4 --for=lastKnownGood');
        const before = await lab.nodes();
        await lab.relet('down');
        await lab.up(relet);
        expect(await lab.nodes(relet)).toEqual(before);
        expect(await lab.relet('history node-2', { relet })).toMatch(/ back$/m);
        await lab.relet('set node-4 maxPods=140 --yes', { relet });
        await lab.relet('wait node-4 --for=lastKnownGood', { relet });
      } finally {
        await lab.remove();
      }
    },
    600_000,
  );
});
