/**
 * Exec credential plugins (client.authentication.k8s.io): runs the command of a kubeconfig and caches its credential until
 * shortly before that expires, or until the server rejects it.
 */
import type { Clock } from '../clock.js';
import { visible } from '../visible-text.js';
import type { ClusterEntry, ExecEntry } from './kubeconfig.js';

export interface ExecCredential {
  token?: string;
  clientCertificate?: string;
  clientKey?: string;
}

export interface ExecPlugin {
  /** One run at a time: concurrent callers share it. */
  credential(signal?: AbortSignal): Promise<ExecCredential>;
  /** The server responded 401 to this credential. No effect on a newer one. */
  rejected(credential: ExecCredential): void;
}

export interface ExecPluginOptions {
  exec: ExecEntry;
  cluster: ClusterEntry;
  /** The PEM of the certificate authority; for plugins with provideClusterInfo. */
  certificateAuthority?: string | undefined;
  userName: string;
  /** Runs the program. Default: as a child of this process. */
  runPlugin?: RunPlugin | undefined;
  env: Record<string, string | undefined>;
  clock: Clock;
  /** Standard input is a terminal, so that the plugin may prompt. Default false. */
  interactive?: boolean;
}

export interface PluginProgram {
  /** A name to be found in PATH, or an absolute path. */
  command: string;
  args: string[];
  /** Added to the environment that the program has anyway: the variables of the entry, and KUBERNETES_EXEC_INFO. */
  variables: Record<string, string>;
  /** The program may prompt the user. There is no timeout then. */
  interactive: boolean;
  timeoutMs: number;
}

/** Resolves to standard output. Rejects with a PluginFailure, or with the signal's reason. */
export type RunPlugin = (program: PluginProgram, signal: AbortSignal) => Promise<string>;

/** Why a program gave no answer, as a sentence that begins with its name: `is not installed`. */
export class PluginFailure extends Error {
  readonly isMissing: boolean;

  constructor(why: string, { isMissing = false, cause }: { isMissing?: boolean; cause?: unknown } = {}) {
    super(why, { cause });
    this.isMissing = isMissing;
  }
}

const group = 'client.authentication.k8s.io';
const versions = [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`];
const clusterExtension = `${group}/exec`;
const maxOutputBytes = 1024 * 1024;
/** Limit for a plugin that does not prompt. */
const timeoutMs = 60_000;
/** A credential is replaced so long before it expires, or after half its life if that is shorter. */
const renewBeforeMs = 60_000;

export class ExecPluginError extends Error {
  override name = 'ExecPluginError';
}

export function createExecPlugin(options: ExecPluginOptions): ExecPlugin {
  const { exec, userName, clock } = options;
  checkEntry(exec, userName);
  let cached: { credential: ExecCredential; expiresAt: number } | undefined;
  let running: { answer: Promise<ExecCredential>; waiters: number; stop: AbortController } | undefined;

  const refresh = async (signal: AbortSignal) => {
    const answer = parseAnswer(await run(options, signal), exec, userName);
    const leftMs = answer.expiresAt - clock.now();
    cached = { credential: answer.credential, expiresAt: answer.expiresAt - Math.min(renewBeforeMs, leftMs / 2) };
    return answer.credential;
  };
  const start = () => {
    const stop = new AbortController();
    const answer = refresh(stop.signal).finally(() => {
      running = undefined;
    });
    return { answer, stop, waiters: 0 };
  };
  return {
    credential(signal) {
      if (cached !== undefined && clock.now() < cached.expiresAt) return Promise.resolve(cached.credential);
      running ??= start();
      const mine = running;
      mine.waiters++;
      return unlessAborted(mine.answer, signal, () => {
        // Others may still wait for the same run.
        if (--mine.waiters === 0) mine.stop.abort();
      });
    },
    rejected(credential) {
      if (cached?.credential === credential) cached = undefined;
    },
  };
}

function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined, onAbort: () => void): Promise<T> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const leave = () => {
      reject(signal.reason);
      onAbort();
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

function checkEntry(exec: ExecEntry, userName: string): void {
  const reject = (why: string) => {
    throw new ExecPluginError(`user "${userName}": exec plugin ${exec.command ? `"${exec.command}" ` : ''}${why}`);
  };
  if (!exec.command) reject('has no command');
  if (!exec.apiVersion) reject(`has no apiVersion; use one of ${versions.join(', ')}`);
  if (!versions.includes(exec.apiVersion!))
    reject(`has apiVersion "${exec.apiVersion}"; use one of ${versions.join(', ')}`);
  const modes = ['Never', 'IfAvailable', 'Always'];
  if (exec.interactiveMode === undefined && exec.apiVersion === versions[0])
    reject(`has no interactiveMode, which v1 requires; use one of ${modes.join(', ')}`);
  if (exec.interactiveMode !== undefined && !modes.includes(exec.interactiveMode))
    reject(`has interactiveMode "${exec.interactiveMode}"; use one of ${modes.join(', ')}`);
}

function isInteractive({ exec, interactive = false, userName }: ExecPluginOptions): boolean {
  if (exec.interactiveMode === 'Always' && !interactive)
    throw new ExecPluginError(
      `user "${userName}": exec plugin "${exec.command}" is interactive, but standard input is not a terminal`,
    );
  return interactive && exec.interactiveMode !== 'Never';
}

/** Runs the program, and names it in the error. */
async function run(options: ExecPluginOptions, signal: AbortSignal): Promise<string> {
  const { exec, userName, env, clock, runPlugin = childPlugin(env, clock) } = options;
  const interactive = isInteractive(options);
  const variables = addedVariables(options, interactive);
  const program = { command: exec.command!, args: exec.args ?? [], variables, interactive, timeoutMs };
  try {
    return await runPlugin(program, signal);
  } catch (cause) {
    if (!(cause instanceof PluginFailure)) throw cause;
    const hint = cause.isMissing && exec.installHint ? `\n${visible(exec.installHint)}` : '';
    throw new ExecPluginError(`user "${userName}": exec plugin "${exec.command}" ${cause.message}${hint}`, { cause });
  }
}

/** The variables of the entry, and KUBERNETES_EXEC_INFO. */
function addedVariables(options: ExecPluginOptions, interactive: boolean): Record<string, string> {
  const { exec, cluster, certificateAuthority } = options;
  const info = {
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: {
      ...(exec.provideClusterInfo && {
        cluster: {
          server: cluster.server,
          'tls-server-name': cluster['tls-server-name'],
          'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
          'certificate-authority-data': certificateAuthority && Buffer.from(certificateAuthority).toString('base64'),
          'proxy-url': cluster['proxy-url'],
          config: cluster.extensions?.find(({ name }) => name === clusterExtension)?.extension,
        },
      }),
      interactive,
    },
  };
  const added = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [String(name), String(value ?? '')]));
  return { ...added, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
}

/** As a child of this process, with its environment. */
function childPlugin(env: ExecPluginOptions['env'], clock: Clock): RunPlugin {
  return async ({ command, args, variables, interactive, timeoutMs }, signal) => {
    // Loaded only where a plugin is used: it costs most of a megabyte of memory.
    const { spawn } = await import('node:child_process');
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        env: { ...env, ...variables },
        stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
        signal,
        killSignal: 'SIGKILL',
      });
      let size = 0;
      const chunks: Buffer[] = [];
      const fail = (why: string) => {
        reject(new PluginFailure(why));
        child.kill('SIGKILL');
      };
      const ended = new AbortController();
      if (!interactive)
        clock.sleep(timeoutMs, ended.signal).then(
          () => fail(noAnswer(timeoutMs)),
          () => {},
        );
      child.stdout!.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxOutputBytes) fail(`printed more than ${maxOutputBytes} bytes`);
      });
      child.on('error', (cause: NodeJS.ErrnoException) => {
        ended.abort();
        if (signal.aborted) return reject(signal.reason);
        const isMissing = cause.code === 'ENOENT';
        reject(
          new PluginFailure(isMissing ? 'is not installed' : `cannot be run: ${cause.message}`, { isMissing, cause }),
        );
      });
      child.on('close', (code, killedBy) => {
        ended.abort();
        if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'));
        else reject(new PluginFailure(code === null ? `was killed by ${killedBy}` : `failed with exit code ${code}`));
      });
    });
  };
}

export const noAnswer = (timeoutMs: number): string => `gave no answer in ${timeoutMs} ms`;

function parseAnswer(stdout: string, exec: ExecEntry, userName: string) {
  const failed = (why: string) => new ExecPluginError(`user "${userName}": exec plugin "${exec.command}" ${why}`);
  let answer: { kind?: string; apiVersion?: string; status?: Record<string, string | undefined> };
  try {
    answer = JSON.parse(stdout);
  } catch {
    throw failed('printed no JSON');
  }
  if (answer?.kind !== 'ExecCredential') throw failed('printed no ExecCredential');
  if (answer.apiVersion !== exec.apiVersion)
    throw failed(`is configured for ${exec.apiVersion} and answered in ${answer.apiVersion}`);
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer.status ?? {};
  if (!token && !clientCertificateData && !clientKeyData) throw failed('gave neither a token nor a certificate');
  if (!clientCertificateData !== !clientKeyData) throw failed('gave a certificate without its key, or a key alone');
  const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt))
    throw failed(`gave expirationTimestamp "${expirationTimestamp}", which is not a valid time`);
  const credential: ExecCredential = {
    ...(token && { token }),
    ...(clientCertificateData &&
      clientKeyData && { clientCertificate: clientCertificateData, clientKey: clientKeyData }),
  };
  return { credential, expiresAt };
}
