/** Files that may hold a config, where they are offered beside nodes and ConfigMaps: shells add files only where there is nothing else. */
import { readdirSync } from 'node:fs';
import type { Suggestion } from './complete-words.js';

/** Directories end in a slash. Hidden ones are offered once their dot is typed. */
export function configFiles(typed: string): Suggestion[] {
  const parent = typed.slice(0, typed.lastIndexOf('/') + 1);
  const showsHidden = typed.slice(parent.length).startsWith('.');
  return readdirSync(parent || '.', { withFileTypes: true })
    .filter(({ name }) => showsHidden || !name.startsWith('.'))
    .filter((entry) => entry.isDirectory() || /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => ({ word: `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}` }));
}
