// Loads bundles of dist/ with V8's code cache, so that a command does not compile what the build has compiled already. A cache is
// only good for the version of Node and the machine that wrote it; without one, a bundle is loaded as Node loads it.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

const dist = join(__dirname, '..', 'dist');
const cacheDir = join(dist, 'code-cache', `${process.version}-${process.platform}-${process.arch}`);
const cacheOf = (name) => join(cacheDir, `${name}.bin`);

function readCache(name) {
  // Coverage and source maps need Node's own loader.
  if (process.env.NODE_V8_COVERAGE || process.sourceMapsEnabled) return undefined;
  try {
    return readFileSync(cacheOf(name));
  } catch {
    return undefined;
  }
}

/** `cacheFor` returns undefined for a bundle that Node is to load, and null for one that is to be compiled without a cache. */
function createLoader({ cacheFor = readCache, onCompiled = () => {} } = {}) {
  const modules = new Map();
  return function load(name) {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const filename = join(dist, name);
    const cachedData = cacheFor(name);
    if (cachedData === undefined) return require(filename);
    const module = { exports: {} };
    modules.set(name, module);
    const code = `(function (exports, require, module) {${readFileSync(filename, 'utf8')}\n})`;
    const script = new Script(code, { filename, ...(cachedData && { cachedData }) });
    onCompiled(name, script);
    // Bundles require only modules of Node and each other.
    const requireIn = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id));
    script.runInThisContext().call(module.exports, module.exports, requireIn, module);
    return module.exports;
  };
}

module.exports = { cacheOf, createLoader };
