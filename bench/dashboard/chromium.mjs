/**
 * One page in chromium, driven over its DevTools pipe with no more than the bench asks for. Playwright adds to what is measured: its
 * scripts are some 1 MB of the page's heap, and chromium keeps a record of every request for it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import * as rig from '../agent/rig.mjs';

const flags = [
  '--headless',
  '--no-sandbox',
  '--no-first-run',
  '--remote-debugging-pipe',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-extensions',
  // Nobody looks at the window.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
];

/** `atStart`: a script that every document runs first. */
export async function openPage({ width, height, atStart }) {
  const path = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'];
  const child = spawn(path, [...flags, `--user-data-dir=${rig.newDir()}`, 'about:blank'], { stdio });
  const exited = once(child, 'exit');
  const send = commandsOf(child.stdio[3], child.stdio[4]);
  rig.atEnd(async () => {
    send('Browser.close').catch(() => {});
    await exited;
  });
  const { targetInfos } = await send('Target.getTargets');
  const { targetId } = targetInfos.find(({ type }) => type === 'page');
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const ask = (method, params) => send(method, params, sessionId);
  await ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  await ask('Page.enable');
  await ask('Page.addScriptToEvaluateOnNewDocument', { source: atStart });

  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await ask('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  };
  return {
    evaluate,
    goTo: (url) => ask('Page.navigate', { url }),
    /** After a collection of all garbage: what scripts and the DOM have, and the memory of their buffers. */
    aliveMB: async () => {
      await ask('HeapProfiler.collectGarbage');
      const { usedSize, embedderHeapUsedSize, backingStorageSize } = await ask('Runtime.getHeapUsage');
      return (usedSize + embedderHeapUsedSize + backingStorageSize) / 2 ** 20;
    },
    /** Returns the memory of the page's process, and of the whole browser. */
    processes: async () => {
      const { processInfo } = await send('SystemInfo.getProcessInfo');
      const renderers = processInfo.filter(({ type }) => type === 'renderer');
      // Chromium keeps others at hand, which do nothing.
      const busiest = renderers.reduce((most, one) => (one.cpuTime > most.cpuTime ? one : most));
      const all = processInfo.reduce((sum, { id }) => sum + ownMB(id), 0);
      return { renderer: ownMB(busiest.id), all };
    },
  };
}

/** Without files; memory that processes share is divided by their number. */
function ownMB(pid) {
  let rollup;
  try {
    rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  } catch {
    // It has just ended.
    return 0;
  }
  const kB = (field) => Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(rollup)[1]);
  return (kB('Pss_Anon') + kB('Pss_Shmem')) / 1024;
}

/** Messages end in a zero byte; the answer to a command has its id. */
function commandsOf(input, output) {
  const waiting = new Map();
  let [next, text] = [1, ''];
  output.setEncoding('utf8').on('data', (chunk) => {
    const messages = (text + chunk).split('\0');
    text = messages.pop();
    for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
      const { resolve, reject, method } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (error) reject?.(new Error(`${method}: ${error.message}`));
      else resolve?.(result);
    }
  });
  output.on('close', () => {
    for (const { reject, method } of waiting.values()) reject(new Error(`${method}: chromium has ended`));
  });
  input.on('error', () => {});
  return (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject, method });
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
}
