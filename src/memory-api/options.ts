/** The options of writes and deletes, from the query or the body, checked as Kubernetes checks them. */

import { parseGoJson } from '../go/json.js';
import { quote } from '../go/quote.js';
import { isObject } from '../json.js';
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from './field-error.js';
import { type FieldValidation, isUnreadable, maxBodyBytes, readProtobuf, readYaml } from './requests/body.js';
import type { Exchange } from './requests/exchange.js';
import { bodyFormat } from './requests/negotiate.js';
import { badRequest, invalid } from './status-error.js';

export interface WriteOptions {
  dryRun: boolean;
  /** The manager in managedFields; '' where the client sent none. */
  fieldManager: string;
  fieldValidation: FieldValidation;
  /** Only for apply: take fields over from others. */
  force: boolean;
}

const maxManagerBytes = 128;

export function writeOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  isApply = false,
): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const level = query.get('fieldValidation') ?? '';
  const force = query.get('force');
  const errors: FieldError[] = [];
  if (isApply && fieldManager === '') errors.push(requiredField('fieldManager', 'is required for apply patch'));
  if (!isApply && kind === 'PatchOptions' && force !== null) {
    errors.push(forbiddenField('force', 'may not be specified for non-apply patch'));
  }
  if (Buffer.byteLength(fieldManager) > maxManagerBytes) errors.push(tooLongField('fieldManager', maxManagerBytes));
  for (const [at, char] of [...fieldManager].entries()) {
    if (/\p{C}|\p{Zl}|\p{Zp}/u.test(char)) {
      const code = `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
      errors.push(invalidField('fieldManager', fieldManager, `invalid character ${code} (at position ${at})`));
    }
  }
  errors.push(...validateDryRun(dryRun));
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(level)) {
    errors.push(unsupportedField('fieldValidation', level, ['', 'Ignore', 'Strict', 'Warn']));
  }
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
  // Servers since 1.25 warn by default.
  const fieldValidation = level === '' ? 'Warn' : (level as FieldValidation);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation,
    force: force !== null && force !== 'false' && force !== '0',
  };
}

function validateDryRun(dryRun: string[]): FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [unsupportedField('dryRun', dryRun, ['All'])];
}

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun: boolean;
}

interface RawDeleteOptions {
  kind?: unknown;
  apiVersion?: unknown;
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: string;
  dryRun?: string[];
}

/** From the body, or from the query where there is no body. */
export async function deleteOptions(exchange: Exchange): Promise<DeleteOptions> {
  const body = await exchange.body(maxBodyBytes);
  const raw = body.length > 0 ? optionsFromBody(exchange, body) : optionsFromQuery(exchange.query);
  const errors: FieldError[] = [];
  // Both are background deletion here. Orphans are not supported: deleting dependents instead would be a surprise.
  const policies = ['Background', 'Foreground'];
  if (raw.propagationPolicy !== undefined && !policies.includes(raw.propagationPolicy)) {
    errors.push(unsupportedField('propagationPolicy', raw.propagationPolicy, policies));
  }
  errors.push(...validateDryRun(raw.dryRun ?? []));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const { dryRun, kind: _, apiVersion: __, propagationPolicy: ___, ...rest } = raw;
  return { ...rest, dryRun: (dryRun ?? []).length > 0 };
}

function optionsFromBody(exchange: Exchange, body: Buffer): RawDeleteOptions {
  const options = parseOptions(exchange, body);
  if (!isObject(options)) throw badRequest('DeleteOptions must be an object');
  if (options.kind !== undefined && options.kind !== 'DeleteOptions')
    throw badRequest(`the body of a deletion must be DeleteOptions, not ${String(options.kind)}`);
  for (const [field, type] of Object.entries(optionTypes)) {
    if (options[field] === null) delete options[field];
    else if (options[field] !== undefined && typeof options[field] !== type)
      throw badRequest(`DeleteOptions.${field} must be of type ${type}`);
  }
  return options;
}

function parseOptions(exchange: Exchange, body: Buffer): unknown {
  const format = bodyFormat(exchange.header('content-type'));
  try {
    if (format === 'protobuf') return readProtobuf(body, 'meta.v1.DeleteOptions').value;
    return (format === 'json' ? parseGoJson : readYaml)(body.toString('utf8')).value;
  } catch (error) {
    if (isUnreadable(error)) throw badRequest(error.message);
    throw error;
  }
}

const optionTypes: Record<string, string> = {
  gracePeriodSeconds: 'number',
  propagationPolicy: 'string',
  preconditions: 'object',
  dryRun: 'object',
};

function optionsFromQuery(query: URLSearchParams): RawDeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  if (grace !== null && !/^[+-]?\d+$/.test(grace)) {
    throw badRequest(`gracePeriodSeconds must be a number, not ${quote(grace)}`);
  }
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    dryRun: query.getAll('dryRun'),
  };
}
