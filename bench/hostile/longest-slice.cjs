/** Preloaded into a server: writes the longest CPU time that its event loop was kept busy at a stretch, in ms, into SLICE_FILE. */
const { readFileSync, writeFileSync } = require('node:fs');

const cpuMs = () => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;

// Children of the server inherit the environment, and are not measured.
const file = process.env.SLICE_FILE;
delete process.env.SLICE_FILE;
delete process.env.NODE_OPTIONS;
let longest = 0;
let from = cpuMs();
if (file !== undefined)
  setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - from);
    from = now;
    try {
      // The reader removes the file to start again.
      readFileSync(file);
    } catch {
      longest = 0;
    }
    writeFileSync(file, String(longest));
    from = cpuMs();
  }, 5).unref();
