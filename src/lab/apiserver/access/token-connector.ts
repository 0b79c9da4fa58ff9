/** POST serviceaccounts/NAME/token: reads the request, asks admission, answers with a token. Nothing is stored. */

import type { Clock } from '../../../clock.js';
import type { Objects } from '../admission/rejection.js';
import type { Admission } from '../admission.js';
import { readObject } from '../http/body.js';
import type { Exchange } from '../http/exchange.js';
import type { RequestInfo } from '../http/request-info.js';
import { writeOptions } from '../options.js';
import type { Resource } from '../resource.js';
import { defineResource } from '../resources/define.js';
import type { Connector } from '../router.js';
import { methodNotAllowed } from '../status-error.js';
import type { ServiceAccountTokens } from './service-account-tokens.js';
import { accountFor, answerRequest, completeRequest } from './token-request.js';

export interface TokenConnectorOptions {
  tokens: ServiceAccountTokens;
  objects: Objects;
  issuer: string;
  admission: Admission;
  clock: Pick<Clock, 'now'>;
}

const tokenRequests = defineResource({
  group: 'authentication.k8s.io',
  kind: 'TokenRequest',
  plural: 'tokenrequests',
  shape: 'authentication.v1.TokenRequest',
  namespaced: true,
});

export function tokenConnector(options: TokenConnectorOptions): Connector {
  return {
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    handle: (exchange, info, resource) => answer(exchange, info, resource, options),
  };
}

async function answer(exchange: Exchange, info: RequestInfo, resource: Resource, options: TokenConnectorOptions) {
  if (exchange.method !== 'POST') throw methodNotAllowed();
  const write = writeOptions(exchange.query, 'CreateOptions');
  const sent = await readObject(exchange, tokenRequests, write.fieldValidation);
  const nowMs = options.clock.now();
  const account = accountFor(sent, info.namespace, info.name, options.objects);
  const object = completeRequest(sent, account, options.issuer, nowMs);
  const request = {
    attributes: info,
    operation: 'CREATE' as const,
    resource,
    object,
    options: { ...write },
    dryRun: write.dryRun,
    warn: (text: string) => exchange.warn(text),
  };
  await options.admission.mutate(request);
  await options.admission.validate(request);
  const answered = answerRequest(object, account, { ...options, nowMs });
  exchange.respond(201, { 'content-type': 'application/json' }, JSON.stringify(answered));
}
