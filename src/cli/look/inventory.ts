/** `relet inventory`: the values of each field, on how many nodes, and from where. Can be saved as files and compared with a saved one. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../atomic-file.js';
import { CannotRun } from '../../cannot-run.js';
import type { EffectiveFleet } from '../../fleet/effective-configs.js';
import { fieldGlob, type Inventory, takeInventory } from '../../fleet/inventory.js';
import {
  type FleetDifference,
  fleetDifference,
  indexFile,
  inventoryFiles,
  isDocumentFile,
} from '../../fleet/inventory-files.js';
import { asYaml } from '../../go/yaml/write.js';
import { whyUnreadable } from '../read-file.js';
import { openTerminal, type Terminal, terminalFor } from '../terminal/terminal.js';
import { inventoryPage, inventoryText } from './inventory-text.js';
import { type FleetOptions, readFleet, readSaved } from './read-fleet.js';

export interface InventoryOptions extends FleetOptions {
  output?: 'table' | 'wide' | 'json' | 'yaml' | 'html';
  by?: string;
  field?: string;
  save?: string;
}

/** Exits with 2 where nodes could not be read. */
export async function inventory(words: string[], options: InventoryOptions): Promise<void> {
  const { by, field, save, output } = options;
  if (save !== undefined) checkSavable(save);
  const fleet = await readFleet(words, options);
  if (fleet.unread.length > 0) process.exitCode = 2;
  if (save !== undefined) {
    writeInventory(save, fleet);
    return openTerminal().print(savedText(save, fleet));
  }
  const found = takeInventory(fleet, { by, field: field === undefined ? undefined : fieldGlob(field) });
  if (field !== undefined && found.fields.length === 0)
    throw new CannotRun(`no field of these kubelets matches '${field}'; 'relet config explain' lists them`);
  show(found, output);
}

function show(found: Inventory, output: InventoryOptions['output'] = 'table'): void {
  const isTable = output === 'table' || output === 'wide';
  const terminal = isTable ? openTerminal() : terminalFor({ output });
  if (isTable) terminal.print(inventoryText(found, terminal, { wide: output === 'wide' }));
  else if (output === 'html') terminal.printDocument(inventoryPage(found));
  else terminal.printDocument(output === 'json' ? JSON.stringify(found, null, 2) : asYaml(found));
}

/** Throws if the directory has files of others. Configs without an index are left from a save that was killed. */
function checkSavable(dir: string): void {
  const names = listed(dir).filter((name) => !name.startsWith('.') && !isDocumentFile(name));
  if (names.length > 0 && !names.includes(indexFile))
    throw new CannotRun(`--save ${dir}: the directory has other files and no ${indexFile}; name a new directory`);
  if (names.includes(indexFile)) readSaved(dir);
}

function listed(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CannotRun(`--save ${dir}: ${whyUnreadable(error)}`);
  }
}

/** Configs first, then the index that names them, then configs that it no longer names go: each moment has a whole inventory. */
function writeInventory(dir: string, fleet: EffectiveFleet): void {
  const files = inventoryFiles(fleet);
  try {
    mkdirSync(dir, { recursive: true });
    for (const [name, text] of files) replaceFile(join(dir, name), text, { mode: 0o644, durable: false });
    for (const name of readdirSync(dir))
      if (isDocumentFile(name) && !files.has(name)) rmSync(join(dir, name), { force: true });
  } catch (error) {
    throw new CannotRun(`--save ${dir}: ${whyUnreadable((error as Error).cause ?? error)}`);
  }
}

function savedText(dir: string, { nodes, unread, documents }: EffectiveFleet): string {
  const left = unread.length === 0 ? '' : `; ${unread.length} could not be read and are named in ${indexFile}`;
  return `${dir}: ${nodes.length} nodes with ${documents.size} distinct configs${left}.`;
}

export function inventoryDiff(a: string, b: string, { output }: { output: 'text' | 'json' }): void {
  const difference = fleetDifference(readSaved(a), readSaved(b));
  const terminal = openTerminal();
  if (output === 'json') terminal.print(JSON.stringify(difference, null, 2));
  else terminal.print(differenceText(difference, terminal));
  const isSame = Object.values(difference).every((list: unknown[]) => list.length === 0);
  process.exitCode = isSame ? 0 : 1;
}

function differenceText({ added, removed, kubelets, changes }: FleetDifference, { paint }: Terminal): string {
  const lines = [
    ...added.map((name) => paint.green(`+ node ${name}`)),
    ...removed.map((name) => paint.red(`- node ${name}`)),
    ...kubelets.map(({ node, before, after }) => `  ${node}: kubelet ${before} -> ${after}`),
    ...changes.map(({ field, before, after, nodes }) => `  ${field}: ${before} -> ${after}   ${fewNames(nodes)}`),
  ];
  return lines.join('\n') || 'No difference.';
}

function fewNames(nodes: readonly string[]): string {
  const shown = nodes.slice(0, 5).join(', ');
  return nodes.length > 5 ? `${shown} and ${nodes.length - 5} more` : shown;
}
