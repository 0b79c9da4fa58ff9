/** Request info of paths: the table of Kubernetes' own forms, including deprecated ones. */
import { describe, expect, test } from 'vitest';
import { requestInfo } from './request-info.js';

const user = { name: 'alice', groups: [] };

function read(method: string, url: string): string {
  const [path = '', search = ''] = url.split('?');
  const info = requestInfo(user, method, path, new URLSearchParams(search));
  if (!info.isResource) return `${info.verb} path`;
  const what = [info.apiGroup, info.apiVersion, info.namespace, info.resource, info.name, info.subresource, info.rest];
  return `${info.verb} ${what.join('|')}`;
}

describe('requests', () => {
  test.each([
    ['GET', '/', 'get path'],
    ['GET', '/api', 'get path'],
    ['GET', '/api/v1', 'get path'],
    ['GET', '/apis/apps', 'get path'],
    ['GET', '/apis/apps/v1', 'get path'],
    ['POST', '/healthz', 'post path'],
    ['GET', '/nothing/at/all/here', 'get path'],
    ['GET', '/api/v1/nodes', 'list |v1||nodes|||'],
    ['GET', '/api/v1/nodes/', 'list |v1||nodes|||'],
    ['GET', '/api/v1/nodes?watch=true', 'watch |v1||nodes|||'],
    ['GET', '/api/v1/nodes?watch=1', 'watch |v1||nodes|||'],
    ['GET', '/api/v1/nodes?watch=0', 'list |v1||nodes|||'],
    ['GET', '/api/v1/nodes?fieldSelector=metadata.name%3Da', 'list |v1||nodes|a||'],
    ['GET', '/api/v1/nodes/a?watch=true', 'get |v1||nodes|a||'],
    ['DELETE', '/api/v1/nodes', 'deletecollection |v1||nodes|||'],
    ['DELETE', '/api/v1/nodes/a', 'delete |v1||nodes|a||'],
    ['PUT', '/api/v1/nodes/a/status', 'update |v1||nodes|a|status|'],
    ['GET', '/api/v1/namespaces', 'list |v1||namespaces|||'],
    ['GET', '/api/v1/namespaces/x', 'get |v1|x|namespaces|x||'],
    ['PUT', '/api/v1/namespaces/x/finalize', 'update |v1|x|namespaces|x|finalize|'],
    ['GET', '/api/v1/namespaces/x/pods', 'list |v1|x|pods|||'],
    ['PATCH', '/api/v1/namespaces/x/pods/p/status', 'patch |v1|x|pods|p|status|'],
    ['POST', '/apis/apps/v1/namespaces/x/deployments', 'create apps|v1|x|deployments|||'],
    ['GET', '/api/v1/watch/namespaces/x/pods', 'watch |v1|x|pods|||'],
    ['GET', '/api/v1/watch/nodes/n', 'watch |v1||nodes|n||'],
    ['GET', '/api/v1/nodes/n/proxy/configz', 'get |v1||nodes|n|proxy|configz'],
    ['GET', '/api/v1/nodes/n:10250/proxy/a%2Fb/c/', 'get |v1||nodes|n:10250|proxy|a%2Fb/c/'],
    ['GET', '/api/v1/proxy/nodes/n/configz', 'proxy |v1||nodes|n||configz'],
    ['PROPFIND', '/api/v1/nodes/n', ' |v1||nodes|n||'],
  ])('%s %s', (method, url, expected) => {
    expect(read(method, url)).toBe(expected);
  });

  test('a path that cannot be decoded throws URIError', () => {
    expect(() => read('GET', '/api/v1/nodes/%zz')).toThrow(URIError);
  });
});
