/** /version: the Kubernetes release whose API this server has, and its own version. */

import { answerJson } from '../../memory-api/requests/answer.js';
import type { Route } from '../../memory-api/router.js';
import { methodNotAllowed, noSuchResource } from '../../memory-api/status-error.js';

/** The release whose answers this server follows. */
export const kubernetesVersion = '1.32.1';

export function versionRoutes(reletVersion: string): Route[] {
  const [major, minor] = kubernetesVersion.split('.');
  const body = {
    major,
    minor,
    // Build metadata: clients compare the version as plain 1.32.1.
    gitVersion: `v${kubernetesVersion}+relet.${reletVersion}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node ${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
  const handle: Route['handle'] = (exchange) => {
    if (exchange.method !== 'GET') throw methodNotAllowed();
    answerJson(exchange, 200, body);
  };
  const below: Route['handle'] = (exchange, info) => {
    if (exchange.path !== '/version/') throw noSuchResource();
    return handle(exchange, info);
  };
  return [
    { path: '/version', handle },
    { path: '/version/', handle: below },
  ];
}
