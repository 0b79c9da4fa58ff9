/** Bundles each executable into one file under dist/, and emits the types of the published `relet/config`. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
process.chdir(root);

// One bundle per process that runs: a node pays only for the node side. bin/relet.cjs picks the bundle by the first word.
const executables = {
  cli: 'src/cli/main.ts',
  node: 'src/cli/kubelet.ts',
  hollow: 'src/cli/hollow-kubelet.ts',
  apiserver: 'src/cli/apiserver.ts',
};

// A verb that src/cli/main.ts imports on demand becomes a bundle of its own, dist/verb-NAME.cjs: node reads and parses a
// whole file before it runs the first line, so one file for all verbs would make each of them start slower.
const lazyVerbs = [...readFileSync('src/cli/main.ts', 'utf8').matchAll(/import\('\.\/([\w-]+)\.js'\)/g)].map(
  ([, name]) => name,
);
for (const name of lazyVerbs) executables[`verb-${name}`] = `src/cli/${name}.ts`;

const verbsApart = {
  name: 'verbs-apart',
  setup(build) {
    build.onResolve({ filter: /^\.\/[\w-]+\.js$/ }, ({ path, importer, kind }) =>
      kind === 'dynamic-import' && importer.endsWith('/src/cli/main.ts')
        ? { path: path.replace(/^\.\/(.*)\.js$/, './verb-$1.cjs'), external: true }
        : undefined,
    );
  },
};

const present = Object.fromEntries(Object.entries(executables).filter(([, file]) => existsSync(file)));
rmSync('dist', { recursive: true, force: true });

const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  // lmdb is native code and stays a package of its own.
  external: ['lmdb'],
};

await build({
  ...shared,
  entryPoints: present,
  outdir: 'dist',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  plugins: [verbsApart],
  // Written as require(): node's import() starts a second module loader, which costs some 5 ms.
  supported: { 'dynamic-import': false },
});
if (existsSync('src/config/index.ts')) {
  await build({ ...shared, entryPoints: { config: 'src/config/index.ts' }, outdir: 'dist', format: 'esm' });
  const types = spawnSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
  if (types.status !== 0) process.exit(types.status ?? 1);
}
