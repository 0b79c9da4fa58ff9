/** Bundles each executable into one file under dist/, and the published `relet/config` and `relet/lab` with their types. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { writeSbom } from './release/sbom.mjs';

const root = join(import.meta.dirname, '..');
process.chdir(root);

// One bundle per process that runs: a node pays only for the node side. bin/relet.cjs picks the bundle by the first word.
const executables = {
  cli: 'src/cli/main.ts',
  node: 'src/cli/node/kubelet.ts',
  hollow: 'src/cli/node/hollow-kubelet.ts',
  apiserver: 'src/cli/apiserver.ts',
};

// Each module that src/cli imports on demand is a bundle in dist/, named after its folder and file: node compiles a whole file
// before it runs the first line, so one file for all verbs would make each of them start slower.
const cli = join(root, 'src/cli');
const nameOf = (file) =>
  relative(cli, file)
    .replace(/\.[jt]s$/, '')
    .replaceAll('/', '-');
const onDemand = /import\('(\.[\w./-]+)\.js'\)/g;
for (const entry of readdirSync(cli, { recursive: true, withFileTypes: true })) {
  if (!entry.name.endsWith('.ts') || entry.name.endsWith('.test.ts')) continue;
  for (const [, path] of readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(onDemand)) {
    const file = join(entry.parentPath, `${path}.ts`);
    executables[nameOf(file)] = file;
  }
}

const apart = {
  name: 'on-demand-apart',
  setup(build) {
    build.onResolve({ filter: /^\..*\.js$/ }, ({ path, resolveDir, kind }) =>
      kind === 'dynamic-import' && `${resolveDir}/`.startsWith(`${cli}/`)
        ? { path: `./${nameOf(join(resolveDir, path))}.cjs`, external: true }
        : undefined,
    );
  },
};

// commander can start subcommands that are programs of their own, and loads child_process for it at every start. We have none.
const commanderWithoutPrograms = {
  name: 'commander-without-programs',
  setup(build) {
    build.onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/node_modules/commander/') ? { path: 'none', namespace: 'nothing' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** Replaces package.json in bundles by its version, the only field that they use. */
const versionOnly = {
  name: 'version-only',
  setup(build) {
    build.onLoad({ filter: /\/package\.json$/ }, ({ path }) => {
      if (path !== join(root, 'package.json')) return undefined;
      const { version } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
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
};

const bundled = await build({
  ...shared,
  metafile: true,
  entryPoints: present,
  outdir: 'dist',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  plugins: [apart, commanderWithoutPrograms, versionOnly],
  // Written as require(): node's import() starts a second module loader, which costs some 5 ms.
  supported: { 'dynamic-import': false },
});
// The inputs of each bundle: bundles.test.ts reads which may contain the lab.
writeFileSync('dist/metafile.json', JSON.stringify(bundled.metafile));
const page = await buildPage();
const built = [bundled, page];
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
writeFileSync('dist/THIRD-PARTY-NOTICES.txt', notices(inputs));
writeCodeCaches();
if (existsSync('src/config/index.ts')) {
  const library = { ...shared, metafile: true, outdir: 'dist', format: 'esm' };
  built.push(await build({ ...library, entryPoints: { config: 'src/config/index.ts' } }));
  // Packages in CommonJS that it contains load modules of Node with require().
  const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" };
  built.push(await build({ ...library, entryPoints: { lab: 'src/lab/index.ts' }, banner }));
  const types = spawnSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.types.json'], { stdio: 'inherit' });
  if (types.status !== 0) process.exit(types.status ?? 1);
  removeUnusedTypes(['config', 'lab'].map((name) => join(root, 'dist/types', name, 'index.d.ts')));
}

writeFileSync('dist/bundles.json', `${JSON.stringify(packagesInBundles(built))}\n`);
writeSbom(root);

/** The dashboard's page. Names have a hash, so that a browser may keep the files for ever; what is imported on demand is a chunk. */
async function buildPage() {
  const outdir = 'dist/dashboard';
  const result = await build({
    bundle: true,
    metafile: true,
    minify: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryPoints: { app: 'src/dashboard/page/main.tsx' },
    outdir,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const names = Object.keys(result.metafile.outputs).map((path) => relative(outdir, path));
  const named = (ending) => names.find((name) => name.startsWith('app-') && name.endsWith(ending));
  const html = readFileSync('src/dashboard/page/index.html', 'utf8');
  writeFileSync(
    `${outdir}/index.html`,
    html.replace('app.css', named('.css')).replace('app.js', named('.js')).replaceAll(/\n\s*/g, '\n'),
  );
  return result;
}

/** Writes code caches for commands without a cluster. The start of other commands is short beside their work. The last run of a bundle counts. */
function writeCodeCaches() {
  const run = (args, input) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/code-cache.cjs', ...args], { input });
    if (status !== 0) throw new Error(`scripts/code-cache.cjs ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  run(['get', '--help']);
  run(['__complete', 'config', '']);
  run(['config', 'explain', 'maxPods']);
  run(['config', 'diff', '/dev/null', '-'], run(['config', 'defaults']));
  run(['config', 'validate', '-'], run(['config', 'defaults']));
}

/** tsc emits types of every module that is imported; only those that the published types refer to are needed. */
function removeUnusedTypes(published) {
  const used = new Set(published);
  for (const file of used)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/['"](\.[^'"]+)\.js['"]/g))
      used.add(join(file, '..', `${path}.d.ts`));
  for (const entry of readdirSync('dist/types', { recursive: true, withFileTypes: true })) {
    const file = join(root, entry.parentPath, entry.name);
    if (entry.isFile() && !used.has(file)) rmSync(file);
  }
}

/** Packages whose code is in each bundle, and what is known of each package: bills of materials are made from it. */
function packagesInBundles(results) {
  const packages = {};
  const idOf = (input) => {
    const folder = folderOf(input);
    if (folder === undefined) return [];
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    packages[`${name}@${version}`] = { name, version, license };
    return [`${name}@${version}`];
  };
  const outputs = results.flatMap(({ metafile }) => Object.entries(metafile.outputs));
  const bundles = outputs
    .filter(([path]) => !path.endsWith('.map'))
    .map(([path, { inputs }]) => {
      const used = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
      return [relative('dist', path), [...new Set(used.flatMap(([input]) => idOf(input)))].sort()];
    });
  return { bundles: Object.fromEntries(bundles.sort(([a], [b]) => (a < b ? -1 : 1))), packages };
}

function folderOf(input) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

/** Lists the packages in the bundles with their licences, as those licences require. */
function notices(inputs) {
  const folders = inputs.flatMap((input) => folderOf(input) ?? []);
  const chapters = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    return `${name} ${version} (${license})\n${text}`;
  });
  return `relet's bundles contain code of these packages.\n\n${chapters.join(`\n${'-'.repeat(80)}\n\n`)}`;
}
