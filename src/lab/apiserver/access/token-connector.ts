/** POST serviceaccounts/NAME/token: reads the request, asks admission, answers with a token. Nothing is stored. */

import type { Clock } from '../../../clock.js';
import type { Objects } from '../../../memory-api/admission/rejection.js';
import type { Admission } from '../../../memory-api/admission.js';
import { writeOptions } from '../../../memory-api/options.js';
import { readObject } from '../../../memory-api/requests/body.js';
import type { Exchange } from '../../../memory-api/requests/exchange.js';
import type { RequestInfo } from '../../../memory-api/requests/request-info.js';
import type { Resource } from '../../../memory-api/resource.js';
import { defineResource } from '../../../memory-api/resources/define.js';
import type { Connector } from '../../../memory-api/router.js';
import { methodNotAllowed } from '../../../memory-api/status-error.js';
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
