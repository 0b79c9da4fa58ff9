/**
 * Common parts of all verbs: declaration of arguments, kubectl's connection flags, and exit codes. 0 is success, 1 is a negative result
 * of the verb (findings, a difference), 2 is "could not run": wrong usage, a file that cannot be read.
 */
import { Command, Help, InvalidArgumentError, Option } from 'commander';
import { impacts } from '../api/node-annotations.js';
import { configNamespace } from '../api/node-config.js';
import { knownMinor, type Minor, newestMinor, oldestMinor, parseMinor, parsePatch } from '../config/model.js';
import { nearest } from '../config/suggest.js';
import { tryParseDuration } from '../go/duration.js';
import { complain } from './complain.js';
import { printError, writeOut } from './terminal/terminal.js';

/** A command that reports wrong usage by throwing, so that `runVerb` ends it in one place. Its subcommands inherit that. */
export function verb(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .showHelpAfterError(`See '${name} --help'.`)
    .configureOutput({
      writeOut,
      outputError: (text) =>
        printError(
          `relet: ${text
            .replace(/^error: /, '')
            .replace(/^option '--accept .*' argument missing/, acceptNeedsValue)
            .trimEnd()}`,
        ),
    });
}

export function oneOf(flags: string, description: string, choices: readonly [string, ...string[]]): Option {
  return new Option(flags, description).choices(choices).default(choices[0]);
}

/** For options that may be given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

export { InvalidArgumentError };

/** An option whose value may be left out takes no word that cannot be its value: `--dry-run node-1` names a node. */
export function fillIn(args: readonly string[], presets: Record<string, { value: string; fits: RegExp }>): string[] {
  return args.map((word, at) => {
    const preset = Object.hasOwn(presets, word) ? presets[word] : undefined;
    const isAlone = preset !== undefined && !preset.fits.test(args[at + 1] ?? '');
    return isAlone ? `${word}${word.startsWith('--') ? '=' : ''}${preset.value}` : word;
  });
}

export async function runVerb(command: Command, args: string[]): Promise<void> {
  for (const sub of command.commands) sub.showHelpAfterError(`See '${command.name()} ${sub.name()} --help'.`);
  try {
    await command.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = complain(error);
  }
}

export function withExamples(command: Command, examples: readonly (readonly [line: string, what: string])[]): Command {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${lines}`);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Must be a whole number of at least 1.');
  return Number(text);
}

/** `3` or `10%`. */
export function parseShare(text: string): number | string {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  if (/^([1-9]\d?|100)%$/.test(text)) return text;
  throw new InvalidArgumentError('Must be a whole number of at least 1, or a percentage such as 10%.');
}

/** As commander hands them over. */
export interface ConnectionOptions {
  kubeconfig?: string;
  context?: string;
  cluster?: string;
  user?: string;
  namespace?: string;
  server?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  certificateAuthority?: string;
  clientCertificate?: string;
  clientKey?: string;
  proxyUrl?: string;
  token?: string;
  username?: string;
  password?: string;
  as?: string;
  asUid?: string;
  asGroup?: string[];
  /** Milliseconds; 0: no limit. */
  requestTimeout?: number;
  verbose?: number;
}

const rarely: readonly (readonly [flags: string, description: string])[] = [
  ['--cluster <NAME>', 'cluster entry of the kubeconfig'],
  ['--user <NAME>', 'user entry of the kubeconfig'],
  ['--tls-server-name <NAME>', "name in the server's certificate"],
  ['--insecure-skip-tls-verify', "do not check the server's certificate"],
  ['--certificate-authority <FILE>', "authority of the server's certificate"],
  ['--client-certificate <FILE>', 'certificate to show'],
  ['--client-key <FILE>', 'its key'],
  ['--proxy-url <URL>', 'proxy to the server'],
  ['--username <NAME>', 'for basic authentication'],
  ['--password <WORD>', 'for basic authentication'],
  ['--as-uid <UID>', 'uid to impersonate'],
];

/** Some of those in daily use are shown in the help; the others are known all the same, as kubectl's are. */
export function addConnectionFlags(
  command: Command,
  namespaceMeans = `of the ConfigMaps (default '${configNamespace}')`,
): void {
  command
    .optionsGroup('Connection (also --server, --token, --as, --request-timeout, as for kubectl):')
    .option('-n, --namespace <NAME>', namespaceMeans)
    .option('--context <NAME>', 'context of the kubeconfig')
    .option('--kubeconfig <FILE>', 'default $KUBECONFIG, then ~/.kube/config')
    .option('-s, --server <URL>', 'address of the API server')
    .option('--token <TOKEN>', 'bearer token for the API server')
    .option('--as <USER>', 'user to impersonate')
    .option('--as-group <GROUP>', 'group to impersonate; may be repeated', collect)
    .addOption(
      new Option('--request-timeout <TIME>', 'limit of one request, such as 10s; 0 for none')
        .argParser(parseTime)
        .default(30_000, '30s'),
    )
    .addOption(
      new Option('-v, --verbose [LEVEL]', 'print each request to the server; LEVEL 6 when left out').argParser(
        parseLevel,
      ),
    );
  for (const [flags, description] of rarely) command.addOption(new Option(flags, description).hideHelp());
  command.configureHelp({ visibleOptions: withoutRepeated });
}

/** Every verb has them, so that its help names them in a heading only; completion offers them all. */
const repeated = ['--server', '--token', '--as', '--as-group', '--request-timeout'];

function withoutRepeated(command: Command): Option[] {
  return new Help().visibleOptions(command).filter(({ long }) => !repeated.includes(long ?? ''));
}

/** Milliseconds from `10s` or, as kubectl has it, a bare number of seconds. */
export function parseTime(text: string): number {
  const nanoseconds = /^\d+$/.test(text) ? BigInt(text) * 1_000_000_000n : tryParseDuration(text);
  if (nanoseconds === undefined || nanoseconds < 0n) throw new InvalidArgumentError('Write it as 30s, 5m or 1h30m.');
  return Number(nanoseconds / 1_000_000n);
}

function parseLevel(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Must be a number.');
  return Number(text);
}

/** See fillIn: what a bare `-v` and `--dry-run` stand for. */
export const presets = {
  '-v': { value: '6', fits: /^\d+$/ },
  '--verbose': { value: '6', fits: /^\d+$/ },
  '--dry-run': { value: 'client', fits: /^(none|client|server)$/ },
};

export interface KubeletVersion {
  minor: Minor;
  /** Absent where only the minor was given. */
  patch?: number | undefined;
  /** Note for people if the rules of another kubelet version are used than the given one. */
  note?: string;
}

/** For `--kubelet-version`: the kubelet that a config is checked for. */
export const newestKnown: KubeletVersion = {
  minor: newestMinor,
  note: `kubelet 1.${newestMinor}, the newest relet knows; --kubelet-version chooses another`,
};

export function parseKubeletVersion(text: string): KubeletVersion {
  const asked = parseMinor(text);
  if (asked === undefined)
    throw new InvalidArgumentError(`Write it as 1.32 or v1.32.1; relet knows 1.${oldestMinor} to 1.${newestMinor}.`);
  const minor = knownMinor(asked);
  if (minor === asked) return { minor, patch: parsePatch(text) };
  const than = asked > minor ? 'newer' : 'older';
  return {
    minor,
    note: `kubelet 1.${minor}: 1.${asked} is ${than} than relet knows (1.${oldestMinor} to 1.${newestMinor})`,
  };
}

export const kubeletVersionOption = (): Option =>
  new Option('--kubelet-version <VERSION>', `kubelet version to check against, 1.${oldestMinor} to 1.${newestMinor}`)
    .argParser(parseKubeletVersion)
    .default(newestKnown, `1.${newestMinor}, the newest known`);

/** `--dry-run` alone means the client's, as with kubectl. */
export const dryRunOption = (): Option =>
  new Option(
    '--dry-run [HOW]',
    "preview only; 'server' also validates on the API server (client when left out)",
  ).choices(['none', 'client', 'server']);

/** The classes of `--accept`. */
export function parseAccepted(text: string): string[] {
  const words = text.split(',');
  const wrong = words.find((word) => !acceptable.includes(word));
  if (wrong === undefined) return words;
  throw new InvalidArgumentError(wrongAccept(wrong));
}

function wrongAccept(word: string): string {
  if (word === 'never') return 'A field of class never cannot be changed on a live node.';
  if (word === '' || word.startsWith('-')) return `${acceptNeedsValue}.`;
  const near = nearest(word, acceptable);
  return `'${word}' is none of ${acceptable.join(', ')}.${near === undefined ? '' : ` Did you mean ${near}?`}`;
}

const acceptNeedsValue = `--accept needs a value: ${impacts.slice(0, -1).join(', ')} or ${impacts.at(-1)}`;

const acceptable: readonly string[] = impacts;
