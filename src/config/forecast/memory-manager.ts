/** Forecast for the memory manager: its policy, and the total that reservedMemory must add up to. */
import { formatQuantity, readQuantity } from '../../go/quantity.js';
import { quote } from '../../go/quote.js';
import type { Outlook } from './outlook.js';
import { reservation } from './reservations.js';

export function forecastMemoryManager(outlook: Outlook): void {
  const { view } = outlook;
  if (view.minor < 21 || (view.minor <= 31 && !view.gate('MemoryManager'))) return;
  const policy = view.text('memoryManagerPolicy');
  if (policy === 'Static') forecastStaticMemory(outlook);
  else if (policy !== 'None')
    outlook.stops('memoryManagerPolicy', {
      why: `${quote(policy)} is not a valid memory manager policy of a Linux node`,
      says:
        view.minor >= 32 && policy === 'BestEffort'
          ? 'policy "BestEffort" is not available for platform "linux"'
          : `unknown policy: ${quote(policy)}`,
      remedy: 'use None or Static, with a capital letter',
    });
}

/** The sum of reservedMemory must equal the amount held back from pods, for memory and for each size of huge pages. */
function forecastStaticMemory(outlook: Outlook): void {
  const { view } = outlook;
  const totals = reservedByNode(outlook);
  const heldBack = reservation(view, 'memory');
  if (totals === undefined || heldBack === undefined) return;
  const names = new Set(['memory', ...totals.keys()]);
  for (const name of names) {
    const wanted = name === 'memory' ? heldBack : 0n;
    const total = totals.get(name) ?? 0n;
    if (total === wanted) continue;
    const [has, needs] = [total, wanted].map((nano) => formatQuantity({ nano, format: 'BinarySI' }));
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
  const { view } = outlook;
  const totals = new Map<string, bigint>();
  const nodes = view.host.numaNodes;
  for (const [index, entry] of view.list('reservedMemory').entries()) {
    const { numaNode = 0, limits } = (entry ?? {}) as { numaNode?: number; limits?: Record<string, unknown> };
    if (nodes !== undefined && (numaNode < 0 || numaNode >= nodes))
      outlook.stops(`reservedMemory[${index}].numaNode`, {
        why: `this host has no NUMA node ${numaNode}`,
        says: `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
        remedy: `use 0 to ${nodes - 1}`,
      });
    for (const [name, value] of Object.entries(limits ?? {})) {
      const quantity = readQuantity(String(value));
      if (typeof quantity === 'string') return undefined;
      totals.set(name, (totals.get(name) ?? 0n) + quantity.nano);
    }
  }
  return totals;
}
