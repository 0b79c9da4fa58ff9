/** Bundles each executable into one file under dist/, and emits the types of the published `relet/config`. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
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

await build({ ...shared, entryPoints: present, outdir: 'dist', format: 'cjs', outExtension: { '.js': '.cjs' } });
if (existsSync('src/config/index.ts')) {
  await build({ ...shared, entryPoints: { config: 'src/config/index.ts' }, outdir: 'dist', format: 'esm' });
  const types = spawnSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
  if (types.status !== 0) process.exit(types.status ?? 1);
}
