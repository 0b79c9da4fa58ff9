// Writes V8's code caches of the bundles that one command loads, with all functions that it has run. The build runs it with commands
// that stand for many: node scripts/code-cache.cjs config validate FILE
const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { cacheOf, createLoader } = require('../bin/load-bundle.cjs');

const scripts = new Map();
process.on('exit', () => {
  for (const [name, script] of scripts) {
    mkdirSync(dirname(cacheOf(name)), { recursive: true });
    writeFileSync(cacheOf(name), script.createCachedData());
  }
});
process.argv[1] = join(__dirname, '..', 'bin', 'relet.cjs');
createLoader({ cacheFor: () => null, onCompiled: (name, script) => scripts.set(name, script) })('cli.cjs');
