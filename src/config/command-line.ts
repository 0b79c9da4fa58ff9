/**
 * Splits a kubelet command line into flags as the kubelet's flag library does: `--a=b` and `--a b`, `_` for `-`, bare
 * booleans, `-v4`, a bare `--` ends the flags. What a flag means is not decided here.
 */
import { flagRows } from './facts/flag-rows.js';
import type { CommandLine } from './model.js';

export interface Flag {
  /** Without dashes, `_` written as `-`. */
  name: string;
  value: string;
  /** As typed: one word or two. */
  words: readonly string[];
}

export interface SplitCommandLine {
  flags: Flag[];
  /** Words that belong to no flag; the kubelet takes none. */
  rest: string[];
  /** A last flag whose value is missing. */
  incomplete?: string;
}

// Flags that may stand alone and write no config field; those that write one are in the facts. From every minor 1.11–1.37.
const otherBooleans =
  `allow-privileged alsologtostderr add-dir-header containerized docker-disable-shared-pid docker-tls
  enable-cadvisor-json-endpoints exit-on-lock-contention experimental-allocatable-ignore-eviction
  experimental-check-node-capabilities-before-mount experimental-dockershim experimental-fail-swap-on
  experimental-kernel-memcg-notification experimental-logging-sanitization help keep-terminated-pod-volumes
  local-storage-capacity-isolation log-json-split-stream logtostderr one-output really-crash-for-testing
  redirect-container-streaming register-node register-schedulable runonce seccomp-default skip-headers skip-log-headers
  version windows-service`.split(/\s+/);

const bare = new Set([...flagRows.filter(([, type]) => type === 'bool').map(([name]) => name), ...otherBooleans]);

/** `more` names booleans of the caller's own. */
export function splitCommandLine(args: readonly string[], more: readonly string[] = []): SplitCommandLine {
  const flags: Flag[] = [];
  const rest: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!;
    if (word === '--') return { flags, rest: [...rest, ...args.slice(index + 1)] };
    if (!word.startsWith('-') || word === '-') {
      rest.push(word);
      continue;
    }
    const { name, value } = readWord(word);
    if (value !== undefined) flags.push({ name, value, words: [word] });
    else if (bare.has(name) || more.includes(name)) flags.push({ name, value: 'true', words: [word] });
    else if (index + 1 === args.length) return { flags, rest, incomplete: word };
    else flags.push({ name, value: args[++index]!, words: [word, args[index]!] });
  }
  return { flags, rest };
}

/** Every value of every flag, in order. */
export function asCommandLine(flags: readonly Flag[]): CommandLine {
  const values = new Map<string, string[]>();
  for (const { name, value } of flags) values.set(name, [...(values.get(name) ?? []), value]);
  return values;
}

function readWord(word: string): { name: string; value?: string } {
  if (!word.startsWith('--')) return readShorthand(word);
  const equals = word.indexOf('=');
  const name = (equals < 0 ? word : word.slice(0, equals)).slice(2).replaceAll('_', '-');
  return equals < 0 ? { name } : { name, value: word.slice(equals + 1) };
}

/** The kubelet has two: -v with a level behind it (`-v4`, `-v=4`, `-v 4`) and -h. */
function readShorthand(word: string): { name: string; value?: string } {
  const name = word[1] === 'h' ? 'help' : word[1]!;
  const tail = word.slice(2);
  return tail === '' ? { name } : { name, value: tail.startsWith('=') ? tail.slice(1) : tail };
}
