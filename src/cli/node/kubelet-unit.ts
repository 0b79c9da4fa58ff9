/**
 * Interprets the command of the kubelet's unit: the program, its flags with variables expanded, and the distribution that set it up.
 * Pure: systemd's answers and the files are passed in.
 */
import { basename } from 'node:path';
import type { Embedding } from '../../agent/drivers/systemd/host-layout.js';
import { CannotRun } from '../../cannot-run.js';
import { assignments, expandWords, parseEnvironmentFile } from './unit-environment.js';

/** As systemd shows the unit on D-Bus. */
export interface UnitFacts {
  name: string;
  /** Empty if there is none. */
  fragmentPath: string;
  dropInPaths: readonly string[];
  /** Words of each ExecStart=, specifiers filled in, variables not. */
  execStart: readonly (readonly string[])[];
  /** `NAME=VALUE`. */
  environment: readonly string[];
  environmentFiles: readonly { path: string; optional: boolean }[];
}

export interface UnitCommand {
  /** The kubelet's executable and what leads to it. */
  command: string[];
  /** The kubelet's flags. */
  args: string[];
  /** Set for a kubelet inside k3s, or below RKE2. */
  embedding?: Embedding;
}

export interface UnitCommandOptions {
  /** Undefined for a missing file. */
  read(path: string): Promise<string | undefined>;
  /** Directory of relet: the lines that its own drop-ins add are left out. */
  dir: string;
}

/** Throws if the unit does not run a kubelet to whose command line something can be added. */
export async function readUnitCommand(unit: UnitFacts, { read, dir }: UnitCommandOptions): Promise<UnitCommand> {
  const [words, ...more] = unit.execStart;
  if (words === undefined || more.length > 0)
    throw new CannotRun(
      `${unit.name} has ${words === undefined ? 'no' : 'more than one'} ExecStart=; relet needs a unit that runs one kubelet`,
    );
  const variables = new Map(assignments(unit.environment));
  for (const { path, optional } of unit.environmentFiles) {
    const text = await read(path);
    if (text === undefined && !optional)
      throw new CannotRun(
        `${unit.name}: EnvironmentFile=${path} cannot be read, and the unit does not start without it`,
      );
    for (const [name, value] of parseEnvironmentFile(text ?? '')) variables.set(name, value);
  }
  return commandIn(expandWords(withoutConfig(words, dir), variables), unit);
}

/** Command line of the unit's main process. Undefined if it is not that of a kubelet, as behind an interpreter. */
export function readProcessCommand(
  words: readonly string[],
  { name, dir }: { name: string; dir: string },
): UnitCommand | undefined {
  if (wrapperDirIn(words) !== undefined) throw wrapped(name, words);
  try {
    return commandIn(withoutConfig(words, dir), { name });
  } catch {
    return undefined;
  }
}

/** The config of relet that a drop-in adds, and with it the empty --config-dir. */
function withoutConfig(words: readonly string[], dir: string): string[] {
  const at = words.findLastIndex((word) => word.startsWith(`--config=${dir}/`));
  return at < 0 ? [...words] : words.slice(0, at);
}

/** A unit or a process whose words are these. */
export function commandIn(words: readonly string[], { name }: { name: string }): UnitCommand {
  const [program = '', first = ''] = words;
  if (wrapperDirIn(words) !== undefined) throw wrapped(name, words);
  if (basename(program) === 'hyperkube' && first === 'kubelet')
    return { command: [program, first], args: words.slice(2) };
  if (/kubelet$/.test(program)) return { command: [program], args: words.slice(1) };
  throw new CannotRun(
    `${name} runs ${program}, not a kubelet, so nothing can be added to the command line of the kubelet; name the unit with --unit, or use 'relet kubelet' (docs/install.md)`,
  );
}

/** Throws if another system writes the config of this kubelet, and would undo a change. */
export function checkOwner({
  name,
  dropInPaths,
  environmentFiles,
}: Pick<UnitFacts, 'name' | 'dropInPaths' | 'environmentFiles'>): void {
  const ofOperator = dropInPaths.find((path) => basename(path).startsWith('10-mco-'));
  if (ofOperator !== undefined)
    throw new CannotRun(
      `the Machine Config Operator of OpenShift owns ${name} (${ofOperator}) and would undo a change; 'relet export FILE --to openshift' writes the KubeletConfig that it applies (docs/export.md)`,
    );
  const ofBottlerocket = ['/etc/network/proxy.env', '/etc/kubernetes/kubelet/env'];
  if (ofBottlerocket.every((file) => environmentFiles.some(({ path }) => path === file)))
    throw new CannotRun(
      `Bottlerocket writes ${name} and its config from its settings at each boot, and would undo a change; change settings.kubernetes there, or let 'relet export FILE --to karpenter' write the EC2NodeClass of its nodes (docs/export.md)`,
    );
}

/** Advice where the named unit does not exist, by the units that do. */
export function otherUnits(units: readonly string[]): string {
  const likely = likelyKubelets(units);
  return `name the kubelet's with --unit${likely.length === 0 ? '' : `; this host has ${likely.join(', ')}`}`;
}

const wrapped = (name: string, words: readonly string[]): CannotRun =>
  new CannotRun(
    `${name} runs 'relet kubelet', and two relets must not manage one kubelet. To move this node to attached mode, take 'relet kubelet' out of the unit, run 'systemctl daemon-reload', and start the agent with --import=${wrapperDirIn(words)} (docs/attached-mode.md)`,
  );

/** The --dynamic-config-dir of 'relet kubelet'; undefined for any other program. */
export function wrapperDirIn(words: readonly string[]): string | undefined {
  const at = words.findIndex((word, index) => /^relet(\.cjs)?$/.test(basename(word)) && words[index + 1] === 'kubelet');
  if (at < 0) return undefined;
  const flags = words.slice(at + 2);
  const name = /^--dynamic[-_]config[-_]dir(?:=(.*))?$/;
  const found = flags.findIndex((word) => name.test(word));
  return (found < 0 ? undefined : (name.exec(flags[found]!)![1] ?? flags[found + 1])) ?? 'DIR';
}

/** How a unit is recognized: by its files, or by a variable in its command line. */
const layouts: readonly { name: string; matches(unit: UnitFacts): boolean }[] = [
  { name: 'k3s', matches: ({ execStart }) => basename(execStart[0]?.[0] ?? '') === 'k3s' },
  { name: 'RKE2', matches: ({ execStart }) => basename(execStart[0]?.[0] ?? '') === 'rke2' },
  { name: 'kubeadm', matches: isKubeadm },
  { name: 'EKS', matches: ({ environmentFiles }) => environmentFiles.some(({ path }) => path.startsWith('/etc/eks/')) },
  { name: 'kOps', matches: (unit) => usesVariable(unit, 'DAEMON_ARGS') },
  { name: 'AKS', matches: (unit) => usesVariable(unit, 'KUBELET_FLAGS') },
  { name: 'GCE', matches: (unit) => usesVariable(unit, 'KUBELET_OPTS') },
];

/** For people; nothing depends on it. */
export function layoutOf(unit: UnitFacts): string {
  return layouts.find(({ matches }) => matches(unit))?.name ?? 'a unit of its own';
}

function isKubeadm({ dropInPaths }: UnitFacts): boolean {
  return dropInPaths.some((path) => basename(path) === '10-kubeadm.conf');
}

function usesVariable({ execStart }: UnitFacts, name: string): boolean {
  return execStart.flat().includes(`$${name}`);
}

/** Units by whose name a person may have meant the kubelet's. */
function likelyKubelets(units: readonly string[]): string[] {
  return units.filter((name) => name.endsWith('.service') && /kube-?let|kubelite|hyperkube|k3s|rke2/.test(name)).sort();
}
