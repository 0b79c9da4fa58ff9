#!/usr/bin/env node
// Starts relet. The first word picks the bundle, so that a node loads only what a node needs.
const { join } = require('node:path');
// `relet help VERB` is `relet VERB --help`.
if (process.argv[2] === 'help' && process.argv.length > 3) process.argv.splice(2, 2, process.argv[3], '--help');
const bundles = { kubelet: 'node', agent: 'node', node: 'node', 'hollow-kubelet': 'hollow', apiserver: 'apiserver' };
const word = process.argv[2] ?? '';
if (Object.hasOwn(bundles, word)) require(join(__dirname, '..', 'dist', `${bundles[word]}.cjs`));
else require('./load-bundle.cjs').createLoader()('cli.cjs');
