/** `relet hollow-kubelet`: a stand-in for the kubelet, started like one. */
import './small-process.js';
import pkg from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../clock.js';
import { check } from '../../config/check.js';
import { runHollowKubelet } from '../../lab/hollow-kubelet/hollow.js';
import { createKlog } from '../../lab/hollow-kubelet/klog.js';
import { type HollowOptions, readHollowOptions } from '../../lab/hollow-kubelet/options.js';
import { systemRandom } from '../../random.js';

const defaultVersion = '1.32.1';

async function main(): Promise<number> {
  // The reader of our log may be gone; a kubelet must outlive its reader.
  process.stderr.on('error', () => {});
  const print = (text: string) => void process.stderr.write(text);
  let options: HollowOptions;
  try {
    options = readHollowOptions(process.argv.slice(3), process.env.RELET_HOLLOW_VERSION ?? defaultVersion);
  } catch (error) {
    createKlog({ write: print, pid: process.pid, clock: systemClock }).error('command failed', { error });
    return 1;
  }
  if (options.showVersion) {
    process.stdout.write(`Kubernetes v${options.version}\n`);
    return 0;
  }
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const log = createKlog({ write: print, pid: process.pid, verbosity: options.verbosity, clock: systemClock });
  return runHollowKubelet(options, {
    check,
    clock: systemClock,
    random: systemRandom,
    log,
    print,
    env: process.env,
    reletVersion: pkg.version,
    signal: stop.signal,
  });
}

/** A reader that never reads must not keep it from exiting. */
const maxDrainMs = 5_000;

/** A pipe holds 64 KB; what is written beyond that is lost with the process unless it waits for its reader. */
function exitWhenWritten(code: number): void {
  const exit = () => process.exit(code);
  setTimeout(exit, maxDrainMs);
  process.stderr.write('', exit);
}

void main().then(exitWhenWritten, (error) => {
  process.stderr.write(`relet hollow-kubelet: ${error instanceof Error ? error.stack : error}\n`);
  exitWhenWritten(1);
});
