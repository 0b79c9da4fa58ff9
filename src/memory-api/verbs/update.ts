/** PUT: replaces an object. */

import { writeOptions } from '../options.js';
import { readObject } from '../requests/body.js';
import { respondObject, respondStored } from '../requests/respond.js';
import { changeObject } from './change.js';
import type { VerbRequest, WriteContext } from './verb.js';

export async function update(request: VerbRequest, context: WriteContext): Promise<void> {
  const { exchange, resource, info } = request;
  const options = writeOptions(exchange.query, 'UpdateOptions');
  const sent = await readObject(exchange, resource, options.fieldValidation);
  const { object, stored, isNew } = await changeObject(request, context, {
    options,
    produce: () => structuredClone(sent),
    createsMissing: resource.strategy.allowCreateOnUpdate && info.subresource === '',
    expectedUid: sent.metadata.uid,
  });
  const code = isNew ? 201 : 200;
  if (stored !== undefined) respondStored(request, code, stored);
  else respondObject(request, code, object);
}
