/** Asks the kubelet's /healthz over HTTP. Injected, so that the flow runs without sockets. */
import { get } from 'node:http';

/** Whether /healthz answers with 200; never rejects. */
export type HealthzProbe = (endpoint: { host: string; port: number }, signal: AbortSignal) => Promise<boolean>;

export const probeHealthz: HealthzProbe = ({ host, port }, signal) =>
  new Promise((resolve) => {
    const request = get({ host, port, path: '/healthz', agent: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });
