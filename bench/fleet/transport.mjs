/**
 * Requests of many agents of one process, each as its own node. A kube-apiserver speaks HTTP/2, over which hundreds of watches share
 * a connection; relet's server speaks HTTP/1.1, where each watch has its own.
 */
import { connect } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';

/** As a kube-apiserver allows by default, less a few. */
const streamsPerSession = 90;

/** `onSent` is called with each request. */
export function createTransport({ url, ca, token, isHttp2, onSent }) {
  const send = isHttp2 ? overHttp2(url, ca) : overHttp1(url, ca);
  return (node) => ({
    open(request) {
      onSent(request);
      const headers = {
        ...request.headers,
        authorization: `Bearer ${token}`,
        ...(node !== undefined && { 'impersonate-user': `system:node:${node}`, 'impersonate-group': 'system:nodes' }),
      };
      return send({ ...request, signal: request.signal, headers });
    },
    close() {},
  });
}

const pathOf = ({ url }) => `${url.pathname}${url.search}`;

function overHttp1(url, ca) {
  // A port of the client is used once for each address: more addresses, more connections.
  const agents = Array.from(
    { length: 4 },
    (_, at) => new Agent({ ca, keepAlive: true, maxSockets: Infinity, localAddress: `127.0.0.${at + 1}` }),
  );
  let count = 0;
  return ({ method, url: asked, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const agent = agents[count++ % agents.length];
      const sent = httpsRequest(url + pathOf({ url: asked }), { method, headers, agent, signal }, resolve);
      sent.on('error', reject);
      sent.end(body);
    });
}

function overHttp2(url, ca) {
  const sessions = [];
  const freeSession = () => {
    let free = sessions.find(({ streams }) => streams < streamsPerSession);
    if (free === undefined) {
      const session = connect(url, { ca });
      session.setMaxListeners(0);
      free = { session, streams: 0 };
      sessions.push(free);
      const gone = () => void sessions.splice(sessions.indexOf(free), sessions.includes(free) ? 1 : 0);
      session.on('error', gone);
      session.on('close', gone);
      session.on('goaway', gone);
    }
    return free;
  };
  return ({ method, url: asked, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const used = freeSession();
      used.streams++;
      const stream = used.session.request(
        { ...headers, ':method': method, ':path': pathOf({ url: asked }) },
        { signal, endStream: body === undefined },
      );
      stream.once('close', () => used.streams--);
      stream.once('error', reject);
      stream.once('response', (answer) => {
        stream.statusCode = answer[':status'];
        stream.headers = answer;
        resolve(stream);
      });
      if (body !== undefined) stream.end(body);
    });
}
