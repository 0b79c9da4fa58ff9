#!/usr/bin/env node
// kubectl asks this what may follow `kubectl relet …`; it must be on the PATH under the name kubectl_complete-relet.
process.argv.splice(2, 0, '__complete');
require('./relet.cjs');
