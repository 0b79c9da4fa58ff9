/**
 * Safety lines of the product that the simulation must miss when they are taken out, as small replacements of source text. They are
 * applied while the simulation is bundled; no file is changed. docs/reliability.md has the seeds that find them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const mutations = [];

/** A plugin for esbuild that replaces the text of one mutation. Throws when the text is not there any more. */
export function mutated(name, root) {
  const mutation = mutations.find((one) => one.name === name);
  if (mutation === undefined)
    throw new Error(`no mutation ${name}; known: ${mutations.map((one) => one.name).join(', ')}`);
  return {
    name: 'mutation',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path !== join(root, mutation.file)) return undefined;
        const text = readFileSync(path, 'utf8');
        if (text.split(mutation.search).length !== 2)
          throw new Error(`${mutation.file} must have this text exactly once: ${mutation.search}`);
        return { contents: text.replace(mutation.search, () => mutation.replace), loader: 'ts' };
      });
    },
  };
}
