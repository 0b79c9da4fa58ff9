#!/usr/bin/env node
// Starts relet. The first word picks the bundle, so that a node loads only what a node needs.
const { join } = require('node:path');
// `relet help VERB` is `relet VERB --help`.
if (process.argv[2] === 'help' && process.argv.length > 3) process.argv.splice(2, 2, process.argv[3], '--help');
const bundles = { kubelet: 'node', node: 'node', 'hollow-kubelet': 'hollow', apiserver: 'apiserver' };
const bundle = Object.hasOwn(bundles, process.argv[2] ?? '') ? bundles[process.argv[2]] : 'cli';
require(join(__dirname, '..', 'dist', `${bundle}.cjs`));
