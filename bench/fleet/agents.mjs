/**
 * A process with many real agents: relet's agent on the fake driver, with a disk in memory, in real time, over real connections.
 * run.mjs forks it, sends it what to start, and asks it how many requests were sent.
 */
import { readFileSync } from 'node:fs';
import { createTransport } from './transport.mjs';

const local = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\n';
const nothing = () => {};

process.once('message', async ({ bundle, url, caFile, token, isHttp2, names, trialMs, restartMs, bootsASecond }) => {
  const { SimulatedNode, seededRandom, systemClock: clock } = await import(bundle);
  // Errors are thrown and caught by the thousand; their stacks are not read.
  Error.stackTraceLimit = 0;
  const sent = { reads: 0, watches: 0, writes: 0, heartbeats: 0 };
  const onSent = ({ method, url: asked, body }) => {
    if (asked.searchParams.has('watch')) sent.watches++;
    else if (method === 'GET') sent.reads++;
    // The kubelet's, not ours.
    else if (body?.includes('"type":"Ready"')) sent.heartbeats++;
    else sent.writes++;
  };
  const transportOf = createTransport({ url, ca: readFileSync(caFile), token, isHttp2, onSent });
  const random = seededRandom(names[0]);
  const memo = new Map();
  const problems = new Map();
  const note = (message, fields) => {
    const text = `${message}: ${fields?.error?.message ?? fields?.cause ?? ''}`.replace(/fleet-\d+/g, 'NODE');
    problems.set(text, (problems.get(text) ?? 0) + 1);
  };
  const listener = {
    onKubeletStart: nothing,
    onKubeletExit: nothing,
    onAgentStart: nothing,
    onAgentDown: (node) => note(`agent of ${node} ended`),
  };
  process.on('message', (question) => {
    if (question === 'sent') process.send({ sent, problems: [...problems], cpu: process.cpuUsage() });
  });
  for (const [at, name] of names.entries()) {
    const node = new SimulatedNode({
      name,
      clock,
      network: { transport: (of) => transportOf(of) },
      random: random.stream(name),
      admin: { transport: transportOf(undefined), clock, random },
      memo,
      flow: {
        trial: { durationMs: trialMs, healthDeadlineMs: 60_000, failedStarts: 3 },
        onChange: 'restart',
        inPlaceJitterMs: 0,
        restartLimit: { burst: 10, intervalMs: 10_000 },
        settleMs: 500,
        crashDelayMs: 1000,
      },
      local,
      kubeletVersion: 'v1.32.1',
      behaviour: () => ({ healthyAfterMs: restartMs }),
      probeMs: () => 0,
      restartMs: () => 1000,
      log: () => ({ debug: nothing, info: nothing, warn: nothing, error: note }),
      listener,
    });
    node.boot();
    await clock.sleep(Math.max(1, 1000 / bootsASecond));
    if (at % 500 === 499) process.send({ booted: at + 1 });
  }
  process.send({ booted: names.length });
});
