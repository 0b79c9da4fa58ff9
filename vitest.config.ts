/** One vitest project: unit tests are beside the code, scenarios across modules in test/. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Started first and in this order, then the other scenarios, then the tests beside the code, so that the workers end together: a clean
 * clone has no durations of an earlier run to sort by.
 */
const slowest = [
  'test/simulation.test.ts',
  'test/dashboard.test.ts',
  'test/docs.test.ts',
  'test/walkthroughs.test.ts',
  'test/conformance.test.ts',
  'test/dashboard-sets.test.ts',
  'test/first-edition.test.ts',
  'test/up.test.ts',
  'test/analysis-on-processes.test.ts',
  'test/second-edition.test.ts',
  'test/hostile-node.test.ts',
  'test/rehearse.test.ts',
  'test/cluster/embedded.test.ts',
  'test/rollout.test.ts',
  'test/operator-failed.test.ts',
  'test/weaknesses.test.ts',
  'test/apiserver/crowd.test.ts',
  'test/operator-roles.test.ts',
  'test/operator-assign.test.ts',
  'test/contributing.test.ts',
  'test/apiserver/durability.test.ts',
];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((file) => moduleId.endsWith(`/${file}`));
      if (at >= 0) return at;
      return slowest.length + (moduleId.includes('/test/') ? 0 : 1);
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

// Node reads all of these certificates at every start, which doubles the time of it. Servers of tests have certificates of their own.
delete process.env.NODE_EXTRA_CA_CERTS;

const memoryDir = '/dev/shm';
/** What all temporary directories of a run need, with room to spare. */
const roomBytes = 2 ** 31;

/** Nodes and servers sync every write. In memory that takes no time, and what was synced is tested without a disk (crash.test.ts). */
function isMemoryDirSuitable(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryDir);
    const mount = mounts()
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, path]) => path === memoryDir);
    // Some tests write programs there.
    return mount?.[2] === 'tmpfs' && !mount[3]?.split(',').includes('noexec') && bavail * bsize > roomBytes;
  } catch {
    return false;
  }
}

const mounts = () => readFileSync('/proc/mounts', 'utf8');

/** Holds everything temporary of a run, also what a program left that was killed, and is removed with it. */
const runDir = mkdtempSync(join(isMemoryDirSuitable() ? memoryDir : tmpdir(), 'relet-run-'));
// Some tests run programs as another user.
chmodSync(runDir, 0o711);
process.once('exit', () => {
  // A mount that is left may show files of the host.
  if (existsSync('/proc/mounts') && mounts().includes(` ${runDir}/`)) return;
  rmSync(runDir, { recursive: true, force: true, maxRetries: 5 });
});

export default defineConfig({
  test: {
    env: { TMPDIR: runDir },
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/property-seed.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Many tests wait for other processes: four workers keep two cores busy.
    maxWorkers: 4,
    // A worker runs one file after the other with the modules it has loaded. They have no state but caches, and a test that
    // changes the environment restores it.
    isolate: false,
    sequence: { sequencer: SlowestFirst },
  },
});
