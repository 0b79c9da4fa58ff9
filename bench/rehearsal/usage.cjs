/** Loaded into the process that is measured: writes what it has used to file descriptor 3 when it ends. */
const { writeSync } = require('node:fs');

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeSync(3, JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMB: maxRSS / 1024 }));
});
