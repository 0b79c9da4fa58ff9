/** The CPU, memory and topology managers: policies and options are looked at only when the kubelet creates them. */
import { formatQuantity, parseQuantity } from '../go-quantity.js';
import type { Minor } from '../model.js';
import { atoiError, isGoBool, quote } from '../rules/go-text.js';
import { entryPath, type Outlook } from './outlook.js';
import { reservation } from './reservations.js';

const giga = 1_000_000_000n;

export function foreseeManagers(outlook: Outlook): void {
  foreseeTopologyManager(outlook);
  if (outlook.judged.minor >= 26 || outlook.judged.gate('CPUManager')) foreseeCPUManager(outlook);
  const { minor } = outlook.judged;
  if (minor >= 32 || (minor >= 21 && outlook.judged.gate('MemoryManager'))) foreseeMemoryManager(outlook);
}

interface Option {
  /** The minors from which on it is alpha, beta, stable. */
  stages: readonly [alpha: Minor, beta: Minor, stable: Minor];
  kind: 'bool' | 'numa-count';
}

const cpuOptions: Record<string, Option> = {
  'full-pcpus-only': { stages: [22, 23, 33], kind: 'bool' },
  'distribute-cpus-across-numa': { stages: [23, 33, Infinity], kind: 'bool' },
  'align-by-socket': { stages: [25, Infinity, Infinity], kind: 'bool' },
  'distribute-cpus-across-cores': { stages: [31, Infinity, Infinity], kind: 'bool' },
  'strict-cpu-reservation': { stages: [32, 33, 35], kind: 'bool' },
  'prefer-align-cpus-by-uncorecache': { stages: [32, 34, 36], kind: 'bool' },
};

const topologyOptions: Record<string, Option> = {
  'prefer-closest-numa-nodes': { stages: [26, 28, 32], kind: 'bool' },
  'max-allowable-numa-nodes': { stages: [31, 31, 35], kind: 'numa-count' },
};

function foreseeCPUManager(outlook: Outlook): void {
  const { judged } = outlook;
  const policy = judged.text('cpuManagerPolicy');
  const options = Object.keys(judged.map('cpuManagerPolicyOptions'));
  if (
    judged.minor >= 22 &&
    judged.minor <= 32 &&
    judged.isSet('cpuManagerPolicyOptions') &&
    !judged.gate('CPUManagerPolicyOptions')
  ) {
    outlook.stops('cpuManagerPolicyOptions', {
      why: 'options of the CPU manager need the feature gate CPUManagerPolicyOptions',
      remedy: 'turn the gate on, or remove the options',
    });
    return;
  }
  if (policy === 'none' && judged.minor >= 22 && options.length > 0)
    outlook.stops('cpuManagerPolicyOptions', {
      why: 'the CPU manager policy none takes no options',
      says: `None policy: received unsupported options=map[${options
        .map((name) => `${name}:${judged.map('cpuManagerPolicyOptions')[name]}`)
        .sort()
        .join(' ')}]`,
      remedy: 'set cpuManagerPolicy to static, or remove the options',
    });
  // Until 1.15 an unknown policy was logged and read as none.
  else if (policy !== 'none' && policy !== 'static' && judged.minor >= 16)
    outlook.stops('cpuManagerPolicy', {
      why: `${quote(policy)} is no CPU manager policy`,
      says: `unknown policy: "${policy}"`,
      remedy: 'use none or static, in lower case',
    });
  else if (policy === 'static') foreseeStaticCPUs(outlook);
}

function foreseeStaticCPUs(outlook: Outlook): void {
  const { judged } = outlook;
  const reserved = reservation(judged, 'cpu');
  const { cpus } = judged.host;
  if (reserved === 0n)
    outlook.stops('cpuManagerPolicy', {
      why: 'the static CPU manager needs CPU that is kept for the system',
      says: '[cpumanager] unable to determine reserved CPU resources for static policy',
      remedy: 'set kubeReserved.cpu, systemReserved.cpu or reservedSystemCPUs',
    });
  else if (reserved !== undefined && cpus !== undefined && (reserved + giga - 1n) / giga > BigInt(cpus))
    outlook.stops('cpuManagerPolicy', {
      why: `the static CPU manager cannot reserve more than the ${cpus} CPUs of this host`,
      remedy: 'reserve fewer CPUs',
    });
  if (judged.minor >= 22) foreseeStaticOptions(outlook);
}

const exclusive: readonly [Minor, string, string][] = [
  [31, 'full-pcpus-only', 'distribute-cpus-across-cores'],
  [31, 'distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  [32, 'prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  [32, 'prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

function foreseeStaticOptions(outlook: Outlook): void {
  const { judged } = outlook;
  const path = 'cpuManagerPolicyOptions';
  foreseeOptions(outlook, path, cpuOptions, 'CPUManager');
  const isOn = (name: string) => /^[1tT]/.test(String(judged.map(path)[name] ?? ''));
  for (const [since, one, other] of exclusive)
    if (judged.minor >= since && isOn(one) && isOn(other))
      outlook.stops(entryPath(path, one), {
        why: `${one} and ${other} exclude each other`,
        says: `static policy options ${one} and ${other} can not be used at the same time`,
        remedy: 'keep one of them',
      });
  if (judged.minor >= 25 && isOn('align-by-socket') && judged.text('topologyManagerPolicy') === 'single-numa-node')
    outlook.stops(entryPath(path, 'align-by-socket'), {
      why: 'align-by-socket does not go with the topology manager policy single-numa-node',
      remedy: 'drop the option or choose another topologyManagerPolicy',
    });
}

/** Options that do not exist, are behind a gate that is off, or have a value nobody can read. */
function foreseeOptions(outlook: Outlook, field: string, known: Record<string, Option>, gates: string): void {
  const { judged } = outlook;
  for (const [name, value] of Object.entries(judged.map(field))) {
    const path = entryPath(field, name);
    const option = Object.hasOwn(known, name) ? known[name]! : undefined;
    const gate = option === undefined ? undefined : gateOf(option, judged.minor, gates);
    if (option === undefined || option.stages[0] > judged.minor)
      outlook.stops(path, {
        why: `${quote(name)} is no option of this manager in 1.${judged.minor}`,
        remedy: `use ${
          Object.keys(known)
            .filter((each) => known[each]!.stages[0] <= judged.minor)
            .join(', ') || 'none'
        }`,
      });
    else if (gate !== undefined && !judged.gate(gate))
      outlook.stops(path, {
        why: `${name} needs the feature gate ${gate}`,
        remedy: 'turn the gate on, or remove the option',
      });
    else if (valueProblem(option, String(value)) !== undefined)
      outlook.stops(path, {
        why: `${quote(String(value))} ${valueProblem(option, String(value))}`,
        remedy: option.kind === 'bool' ? 'write "true" or "false"' : 'write "8" or more',
      });
  }
}

/** In 1.22, the first with options, no gate stood before a single one. */
function gateOf(option: Option, minor: Minor, gates: string): string | undefined {
  if (minor === 22 || minor >= option.stages[2]) return undefined;
  return `${gates}Policy${minor >= option.stages[1] ? 'Beta' : 'Alpha'}Options`;
}

function valueProblem(option: Option, value: string): string | undefined {
  if (option.kind === 'bool') return isGoBool(value) ? undefined : 'is neither true nor false';
  if (atoiError(value) !== undefined) return 'is no number';
  return Number(value) < 8 ? 'is less than 8' : undefined;
}

function foreseeTopologyManager(outlook: Outlook): void {
  const { judged } = outlook;
  if (judged.minor < 16 || (judged.minor <= 26 && !judged.gate('TopologyManager'))) return;
  const policy = judged.text('topologyManagerPolicy');
  // From 1.20 on validation knows the policies.
  if (judged.minor <= 19 && !['none', 'best-effort', 'restricted', 'single-numa-node'].includes(policy))
    outlook.stops('topologyManagerPolicy', {
      why: `${quote(policy)} is no topology manager policy`,
      says: `unknown policy: "${policy}"`,
      remedy: 'use none, best-effort, restricted or single-numa-node',
    });
  if (judged.minor >= 26) foreseeTopologyOptions(outlook, policy);
  const nodes = judged.host.numaNodes ?? 0;
  const given = judged.map('topologyManagerPolicyOptions')['max-allowable-numa-nodes'];
  const most = judged.minor >= 31 ? Number(given ?? 8) : 8;
  if (policy !== 'none' && nodes > most)
    outlook.stops('topologyManagerPolicy', {
      why: `the topology manager serves at most ${most} NUMA nodes and this host has ${nodes}`,
      says: `unsupported on machines with more than ${most} NUMA Nodes`,
      remedy:
        judged.minor >= 31 ? 'set the option max-allowable-numa-nodes, or the policy none' : 'set the policy none',
    });
}

function foreseeTopologyOptions(outlook: Outlook, policy: string): void {
  const { judged } = outlook;
  const field = 'topologyManagerPolicyOptions';
  if (!judged.gate('TopologyManagerPolicyOptions')) {
    if (judged.isSet(field))
      outlook.stops(field, {
        why: 'options of the topology manager need the feature gate TopologyManagerPolicyOptions',
        remedy: 'turn the gate on, or remove the options',
      });
    return;
  }
  // Since 1.28 nobody looks at them under the policy none.
  if (policy !== 'none' || judged.minor <= 27) foreseeOptions(outlook, field, topologyOptions, 'TopologyManager');
}

function foreseeMemoryManager(outlook: Outlook): void {
  const { judged } = outlook;
  const policy = judged.text('memoryManagerPolicy');
  if (policy === 'Static') foreseeStaticMemory(outlook);
  else if (policy !== 'None')
    outlook.stops('memoryManagerPolicy', {
      why: `${quote(policy)} is no memory manager policy of a Linux node`,
      says:
        judged.minor >= 32 && policy === 'BestEffort'
          ? 'policy "BestEffort" is not available for platform "linux"'
          : `unknown policy: ${quote(policy)}`,
      remedy: 'use None or Static, with a capital letter',
    });
}

/** What reservedMemory adds up to must equal what is held back from pods, for memory and for each size of huge pages. */
function foreseeStaticMemory(outlook: Outlook): void {
  const { judged } = outlook;
  const totals = reservedByNode(outlook);
  const heldBack = reservation(judged, 'memory');
  if (totals === undefined || heldBack === undefined) return;
  const names = new Set(['memory', ...totals.keys()]);
  for (const name of names) {
    const wanted = name === 'memory' ? heldBack : 0n;
    const total = totals.get(name) ?? 0n;
    if (total === wanted) continue;
    const [has, needs] = [total, wanted].map((nanos) => formatQuantity({ nanos, format: 'binary' }));
    outlook.stops('reservedMemory', {
      why: `the static memory manager needs reservedMemory to add up to ${needs} of ${name}, what kubeReserved, systemReserved and evictionHard hold back, and it adds up to ${has}`,
      says: `the total amount "${has}" of type "${name}" is not equal to the value "${needs}" determined by Node Allocatable feature`,
      remedy: `reserve ${needs} of ${name} over the NUMA nodes`,
    });
  }
  if (heldBack === 0n && (totals.get('memory') ?? 0n) === 0n)
    outlook.stops('reservedMemory', {
      why: 'the static memory manager needs memory that is kept for the system',
      says: '[memorymanager] you should specify the system reserved memory',
      remedy: 'set kubeReserved.memory or systemReserved.memory, and reservedMemory to match',
    });
}

function reservedByNode(outlook: Outlook): Map<string, bigint> | undefined {
  const { judged } = outlook;
  const totals = new Map<string, bigint>();
  const nodes = judged.host.numaNodes;
  for (const [index, entry] of judged.list('reservedMemory').entries()) {
    const { numaNode = 0, limits } = (entry ?? {}) as { numaNode?: number; limits?: Record<string, unknown> };
    if (nodes !== undefined && (numaNode < 0 || numaNode >= nodes))
      outlook.stops(`reservedMemory[${index}].numaNode`, {
        why: `this host has no NUMA node ${numaNode}`,
        says: `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
        remedy: `use 0 to ${nodes - 1}`,
      });
    for (const [name, value] of Object.entries(limits ?? {})) {
      const quantity = parseQuantity(String(value));
      if (typeof quantity === 'string') return undefined;
      totals.set(name, (totals.get(name) ?? 0n) + quantity.nanos);
    }
  }
  return totals;
}
