/** The options of writes and deletes, from the query or the body, checked as Kubernetes checks them. */

import { JsonSyntaxError, parseGoJson } from '../../go/json.js';
import { goQuote } from '../../go/quote.js';
import { isObject } from '../../json.js';
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
  unsupportedField,
} from './field-error.js';
import { type FieldValidation, maxBodyBytes, readProtobuf, readYaml } from './http/body.js';
import type { Exchange } from './http/exchange.js';
import { bodyFormat } from './http/negotiate.js';
import { DecodeError } from './resource.js';
import { badRequest, invalid, plainInternal } from './status-error.js';

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

/** The Go scheme and struct that Kubernetes names in errors about options. */
const metaScheme = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27';
const typeMetaStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  orphanDependents?: boolean;
  propagationPolicy?: PropagationPolicy;
  dryRun: boolean;
}

interface RawDeleteOptions {
  kind?: unknown;
  apiVersion?: unknown;
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  orphanDependents?: boolean;
  propagationPolicy?: string;
  dryRun?: string[];
}

/** From the body, or from the query where there is no body. */
export async function deleteOptions(exchange: Exchange): Promise<DeleteOptions> {
  const body = await exchange.body(maxBodyBytes);
  const raw = body.length > 0 ? optionsFromBody(exchange, body) : optionsFromQuery(exchange.query);
  const errors: FieldError[] = [];
  const policies = ['Foreground', 'Background', 'Orphan'];
  if (raw.orphanDependents !== undefined && raw.propagationPolicy !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidField('propagationPolicy', raw.propagationPolicy, why));
  }
  if (raw.propagationPolicy !== undefined && !policies.includes(raw.propagationPolicy)) {
    errors.push(unsupportedField('propagationPolicy', raw.propagationPolicy, [...policies, 'nil']));
  }
  errors.push(...validateDryRun(raw.dryRun ?? []));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const { dryRun, kind: _, apiVersion: __, propagationPolicy, ...rest } = raw;
  return {
    ...rest,
    ...(propagationPolicy === undefined ? {} : { propagationPolicy: propagationPolicy as PropagationPolicy }),
    dryRun: (dryRun ?? []).length > 0,
  };
}

function optionsFromBody(exchange: Exchange, body: Buffer): RawDeleteOptions {
  const format = bodyFormat(exchange.header('content-type'));
  let value: unknown;
  try {
    if (format === 'protobuf') value = readProtobuf(body, 'meta.v1.DeleteOptions').value;
    else value = (format === 'json' ? parseGoJson : readYaml)(body.toString('utf8')).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof DecodeError) {
      throw plainInternal(`couldn't get version/kind; json parse error: ${error.message}`);
    }
    throw error;
  }
  if (!isObject(value)) {
    const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    const why = `json: cannot unmarshal ${found} into Go value of type ${typeMetaStruct}`;
    throw plainInternal(`couldn't get version/kind; json parse error: ${why}`);
  }
  const options = value as RawDeleteOptions;
  if (options.kind !== undefined && options.kind !== 'DeleteOptions') {
    const version = goQuote(typeof options.apiVersion === 'string' ? options.apiVersion : 'v1');
    throw plainInternal(
      `no kind ${goQuote(String(options.kind))} is registered for version ${version} in scheme ${goQuote(metaScheme)}`,
    );
  }
  checkOptionTypes(options);
  return options;
}

/** JSON's type and Go's. */
const optionTypes: Record<string, [string, string]> = {
  gracePeriodSeconds: ['number', 'int64'],
  orphanDependents: ['boolean', 'bool'],
  propagationPolicy: ['string', 'v1.DeletionPropagation'],
  preconditions: ['object', 'v1.Preconditions'],
  dryRun: ['object', '[]string'],
};

function checkOptionTypes(options: RawDeleteOptions): void {
  for (const [field, [type, goType]] of Object.entries(optionTypes)) {
    const value = (options as Record<string, unknown>)[field];
    if (value === null) delete (options as Record<string, unknown>)[field];
    else if (value !== undefined && typeof value !== type) {
      const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
      throw plainInternal(
        `json: cannot unmarshal ${found} into Go struct field DeleteOptions.${field} of type ${goType}`,
      );
    }
  }
}

function optionsFromQuery(query: URLSearchParams): RawDeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  const policy = query.get('propagationPolicy');
  if (grace !== null && !/^[+-]?\d+$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(grace)}: invalid syntax`);
  }
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(orphan === null ? {} : { orphanDependents: orphan !== 'false' && orphan !== '0' }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    dryRun: query.getAll('dryRun'),
  };
}
