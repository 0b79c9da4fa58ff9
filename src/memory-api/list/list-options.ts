/** The parameters of list and watch, checked as Kubernetes checks them. */

import { quote } from '../../go/quote.js';
import { type FieldError, forbiddenField, unsupportedField } from '../field-error.js';
import { isTrue } from '../requests/request-info.js';
import { badRequest, invalid } from '../status-error.js';

export interface ListOptions {
  /** '' where it is absent. */
  resourceVersion: string;
  resourceVersionMatch: string;
  /** 0: everything. */
  limit: number;
  continue: string;
  timeoutSeconds: number | undefined;
  allowWatchBookmarks: boolean;
  sendInitialEvents: boolean | undefined;
}

export function listOptions(query: URLSearchParams, isWatch: boolean): ListOptions {
  const options: ListOptions = {
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: Math.max(0, integer(query.get('limit')) ?? 0),
    continue: query.get('continue') ?? '',
    timeoutSeconds: integer(query.get('timeoutSeconds')),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined,
  };
  const errors = isWatch ? validateWatch(options) : validateList(options);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
  return options;
}

function integer(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badRequest(`${quote(text)} is not a valid number`);
  return value;
}

function validateList(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, resourceVersion } = options;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (resourceVersion === '') {
      const why = 'resourceVersionMatch is forbidden unless resourceVersion is provided';
      errors.push(forbiddenField('resourceVersionMatch', why));
    }
    if (options.continue !== '') {
      errors.push(
        forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
      );
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(unsupportedField('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && resourceVersion === '0') {
      const why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
      errors.push(forbiddenField('resourceVersionMatch', why));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatch(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, sendInitialEvents } = options;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    errors.push(forbiddenField('resourceVersionMatch', why));
  }
  if (match !== '') {
    if (sendInitialEvents === undefined) {
      const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
      errors.push(forbiddenField('resourceVersionMatch', why));
    }
    if (match !== 'NotOlderThan') errors.push(unsupportedField('resourceVersionMatch', match, ['NotOlderThan']));
  }
  // The message of Kubernetes, which mentions the match even where it is absent.
  if (options.continue !== '') {
    errors.push(forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}
