/** /openapi/v2 (JSON or protobuf) and /openapi/v3 with its documents. Built on first use, cached until a CRD changes. */

import type { Registry } from '../../../memory-api/registry.js';
import { answerBytes, answerText, CachedDocument } from '../../../memory-api/requests/answer.js';
import type { Exchange } from '../../../memory-api/requests/exchange.js';
import type { Route } from '../../../memory-api/router.js';
import { kubernetesVersion } from '../version.js';
import { documentV2 } from './document-v2.js';
import { documentV3 } from './document-v3.js';
import { encodeDocument } from './protobuf.js';

const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
/** The name has an @ in old clients and a dot in new ones. */
const protobufAsked = /application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/;

export function openApiRoutes(registry: Registry): Route[] {
  const generation = () => registry.generation;
  const v2 = new CachedDocument(generation, () => documentV2(registry.all(), kubernetesVersion));
  const v2Protobuf = new CachedDocument(generation, () =>
    encodeDocument(documentV2(registry.all(), kubernetesVersion)),
  );
  const v3 = new Map<string, CachedDocument>();
  const groupDocument = (path: string): CachedDocument | undefined => {
    const resources = () => registry.all().filter((resource) => groupPath(resource) === path);
    if (resources().length === 0) return undefined;
    if (!v3.has(path)) v3.set(path, new CachedDocument(generation, () => documentV3(resources(), kubernetesVersion)));
    return v3.get(path);
  };
  return [
    {
      path: '/openapi/v2',
      handle(exchange) {
        const accept = exchange.header('accept') ?? '';
        if (protobufAsked.test(accept)) answerBytes(exchange, protobufType, v2Protobuf);
        else if (isJsonAccepted(accept)) answerBytes(exchange, 'application/json', v2);
        else answerEmpty(exchange, 406);
      },
    },
    {
      path: '/openapi/v3',
      handle(exchange) {
        const paths = [...new Set(registry.all().map(groupPath))].sort();
        const entry = (path: string) => ({
          serverRelativeURL: `/openapi/v3/${path}?hash=${groupDocument(path)!.get().etag}`,
        });
        // Kubernetes sets no type here, and Go detects text.
        const index = { paths: Object.fromEntries(paths.map((path) => [path, entry(path)])) };
        answerText(exchange, 200, `${JSON.stringify(index)}\n`);
      },
    },
    {
      path: '/openapi/v3/',
      handle(exchange) {
        const document = groupDocument(exchange.path.slice('/openapi/v3/'.length));
        if (document === undefined) answerEmpty(exchange, 404);
        else if (!isJsonAccepted(exchange.header('accept') ?? '')) answerEmpty(exchange, 406);
        else answerBytes(exchange, 'application/json', document);
      },
    },
  ];
}

function answerEmpty(exchange: Exchange, code: number): void {
  exchange.respond(code, {}, '');
}

function groupPath({ group, version }: { group: string; version: string }): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

function isJsonAccepted(accept: string): boolean {
  return accept.trim() === '' || /application\/json|application\/\*|\*\/\*/.test(accept);
}
