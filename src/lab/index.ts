/**
 * `relet/lab`: starts a cluster on this machine for the tests of other projects. It has an API server, the controller and
 * nodes with hollow kubelets, each a process, in a temporary directory that is removed when the lab stops.
 */
import { existsSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeTree } from '../atomic-file.js';
import { newestMinor, oldestMinor } from '../config/model.js';
import { readPlain } from '../config/plain-document.js';
import { tryParseDuration } from '../go/duration.js';
import { SystemDirectory } from './up/directory.js';
import { mostNodes, type Network, runOnFreePort } from './up/network.js';
import { decideSettings, nodeNames, type Settings, writeSystem } from './up/settings.js';
import { type NodeControl, runSystem } from './up/system.js';

export interface LabOptions {
  /** How many nodes, called node-1, node-2 and so on: 1 to 500. Default: 1. */
  nodes?: number;
  /** Version of the hollow kubelets: 1.11.0 to 1.37.x. Default: 1.32.1. */
  kubeletVersion?: string;
  /** How long a config is on trial, as a Go duration of at least 0s, such as 2s or 10m. Default: 10m. */
  trialDuration?: string;
  /** Object that has the reference of a node: as on Kubernetes 1.26 and later, or as before 1.22. Default: NodeConfig. */
  references?: 'NodeConfig' | 'Node';
  /** More flags for every kubelet, such as --v=4. Default: none. */
  kubeletFlags?: string[];
  /** Environment of all processes. They need nothing from it. Default: empty. */
  env?: Record<string, string>;
  /** Stops the lab when it is aborted, also while it starts. Default: none. */
  signal?: AbortSignal;
  /** Called with a line when a process ended and is started again. Default: the line is dropped. */
  onTrouble?: (line: string) => void;
  /** Directory of the relet package. Default: the package that this module was loaded from. */
  packageDir?: string;
}

export interface Lab {
  /** URL of the API server. */
  readonly url: string;
  /** Path of a kubeconfig of the administrator, for kubectl and client libraries. */
  readonly kubeconfig: string;
  /** The content of that file. */
  readonly kubeconfigText: string;
  /** The administrator's certificates as PEM, for node:https. */
  readonly tls: { ca: string; cert: string; key: string };
  /** Names of the nodes. */
  readonly nodes: readonly string[];
  /** Data and logs of all processes, until the lab stops. */
  readonly dataDir: string;
  /** Stops relet and the kubelet of one node; its Node object stays. */
  stopNode(name: string): Promise<void>;
  /** Starts a stopped node again; resolves when it is Ready. */
  startNode(name: string): Promise<void>;
  /** Stops everything and removes the data directory. More calls wait for the first. */
  stop(): Promise<void>;
}

/** Resolves when all nodes are Ready. Rejects with an Error that says what to do; nothing is left running then. */
export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const settings = checkedSettings(options);
  const packageDir = options.packageDir ?? fileURLToPath(new URL('..', import.meta.url));
  const program = join(packageDir, 'bin', 'relet.cjs');
  if (!existsSync(program))
    throw new Error(`relet/lab: there is no ${program}: install the whole relet package, or set packageDir`);
  options.signal?.throwIfAborted();
  const directory = new SystemDirectory(realpathSync(mkdtempSync(join(tmpdir(), 'relet-lab-'))));
  const names = nodeNames(settings.nodes);
  const running = run(options, settings, directory, packageDir);
  try {
    const { url, control } = await running.started;
    const kubeconfigText = readFileSync(directory.kubeconfig, 'utf8');
    return {
      url,
      kubeconfig: directory.kubeconfig,
      kubeconfigText,
      tls: tlsOf(kubeconfigText),
      nodes: names,
      dataDir: directory.dir,
      stopNode: (name) => control.stop(known(name, names)),
      startNode: (name) => control.start(known(name, names)),
      stop: running.stop,
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

interface Started {
  url: string;
  control: NodeControl;
}

function run(options: LabOptions, settings: Settings, directory: SystemDirectory, packageDir: string) {
  const stopping = new AbortController();
  const { env = {}, onTrouble = () => {} } = options;
  const system = (network: Network, onStarted: (late: string[], started: Started) => void) => {
    writeSystem(directory.settings, { settings, network });
    let url = '';
    let control: NodeControl;
    return runSystem({
      directory,
      system: { settings, network },
      relet: [process.execPath, join(packageDir, 'bin', 'relet.cjs')],
      deployDir: join(packageDir, 'deploy'),
      env,
      signal: stopping.signal,
      onNodes: (nodes) => {
        control = nodes;
      },
      listener: {
        onServer: (served) => {
          url = served;
        },
        onNode: () => {},
        onTrouble,
        onCrash: (name, { why, error = why }) =>
          onTrouble(`${name}: its kubelet crashed (${error}) and is started again`),
        onStarted: (late) => onStarted(late, { url, control }),
      },
    });
  };
  let ended: Promise<void> = Promise.resolve();
  const started = new Promise<Started>((resolve, reject) => {
    const onStarted = (late: string[], now: Started) =>
      late.length === 0 ? resolve(now) : reject(notReady(late, directory));
    const question = { dir: directory.dir, nodes: settings.nodes, askedPort: 0, remembered: undefined };
    ended = runOnFreePort(question, (network) => system(network, onStarted)).catch(reject);
    stopping.signal.addEventListener('abort', () => reject(stopping.signal.reason), { once: true });
  });
  const terminate = () => terminateAll(directory, settings.nodes);
  let stopped: Promise<void> | undefined;
  const stop = (reason?: unknown) => {
    stopped ??= (async () => {
      stopping.abort(reason);
      await ended;
      removeTree(directory.dir);
      process.off('exit', terminate);
    })();
    return stopped;
  };
  // A test runner that exits without stop() must not leave processes behind.
  process.once('exit', terminate);
  options.signal?.addEventListener('abort', () => void stop(options.signal?.reason), { once: true });
  return { started, stop: () => stop() };
}

function checkedSettings(options: LabOptions): Settings {
  const { nodes = 1, kubeletVersion, trialDuration = '10m', references = 'NodeConfig', kubeletFlags = [] } = options;
  const invalid = (what: string) => new TypeError(`relet/lab: ${what}`);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > mostNodes)
    throw invalid(`nodes must be a whole number from 1 to ${mostNodes}`);
  if ((tryParseDuration(trialDuration) ?? -1n) < 0n)
    throw invalid(`trialDuration must be a duration such as 2s or 10m, not '${trialDuration}'`);
  if (references !== 'NodeConfig' && references !== 'Node')
    throw invalid(`references must be 'NodeConfig' or 'Node', not '${references}'`);
  const minor = Number(/^v?1\.(\d+)\.\d+$/.exec(kubeletVersion ?? '1.32.1')?.[1] ?? Number.NaN);
  if (!(minor >= oldestMinor && minor <= newestMinor))
    throw invalid(`kubeletVersion must be from 1.${oldestMinor}.0 to 1.${newestMinor}.x, not '${kubeletVersion}'`);
  const versionFlags = kubeletVersion === undefined ? [] : [`--hollow-version=${kubeletVersion.replace(/^v/, '')}`];
  const nodeConfig = references === 'NodeConfig';
  return decideSettings(
    { nodes, trialDuration, nodeConfig, kubeletArgs: [...versionFlags, ...kubeletFlags] },
    undefined,
  );
}

function notReady(late: string[], directory: SystemDirectory): Error {
  const ends = late.slice(0, 3).map((name) => {
    const lines = readFileSync(directory.node(name).log, 'utf8').trimEnd().split('\n').slice(-5);
    return `the end of the log of ${name}:\n${lines.join('\n')}`;
  });
  const advice = 'start fewer nodes, or correct kubeletFlags';
  return new Error(`relet/lab: ${late.join(', ')} did not become Ready in time; ${advice}; ${ends.join('\n')}`);
}

function tlsOf(kubeconfig: string): Lab['tls'] {
  const { clusters, users } = readPlain(kubeconfig) as {
    clusters: [{ cluster: Record<string, string> }];
    users: [{ user: Record<string, string> }];
  };
  const pem = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString();
  return {
    ca: pem(clusters[0].cluster['certificate-authority-data']),
    cert: pem(users[0].user['client-certificate-data']),
    key: pem(users[0].user['client-key-data']),
  };
}

function known(name: string, names: string[]): string {
  if (names.includes(name)) return name;
  throw new RangeError(`relet/lab: there is no node '${name}'; there are ${names.join(', ')}`);
}

/** Synchronous, for the end of this process. */
function terminateAll(directory: SystemDirectory, nodes: number): void {
  const files = nodeNames(nodes).map((name) => directory.node(name).pid);
  for (const file of [...files, directory.at('controller.pid'), directory.at('apiserver.pid')])
    try {
      process.kill(Number(readFileSync(file, 'utf8')), 'SIGTERM');
    } catch {
      // It does not run.
    }
}
