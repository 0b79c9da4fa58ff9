/** A proxy between relet and the API server that counts requests. It shows the server's own certificate. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import { atEnd } from './rig.mjs';

export async function countRequests({ url, ca, pki }) {
  const counted = new Map();
  const watches = new Map();
  const agent = new Agent({ keepAlive: true, ca });
  const read = (name) => readFileSync(join(pki, name));
  const server = createServer({ cert: read('apiserver.crt'), key: read('apiserver.key') }, (asked, answer) => {
    const isRelet = asked.headers['user-agent']?.startsWith('relet/') && asked.headers['user-agent'].includes('(node)');
    const { pathname, searchParams } = new URL(asked.url, url);
    const what = `${searchParams.has('watch') ? 'WATCH' : asked.method} ${pathname}`;
    if (isRelet) counted.set(what, (counted.get(what) ?? 0) + 1);
    if (isRelet && what.startsWith('WATCH'))
      watches.set(answer, `${pathname}?${searchParams.get('fieldSelector') ?? 'all of them'}`);
    const { method, headers } = asked;
    const forwarded = request(url + asked.url, { method, headers, agent }, (response) => {
      answer.writeHead(response.statusCode, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
    });
    forwarded.on('error', () => answer.destroy());
    asked.pipe(forwarded);
    answer.on('close', () => {
      watches.delete(answer);
      forwarded.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `https://127.0.0.1:${server.address().port}`,
    counted,
    openWatches: () => watches.size,
    watched: () => [...watches.values()].sort(),
  };
}
