/** Validation errors with the wording of Kubernetes: a path, a type, a value and a detail. */

export type FieldErrorType =
  | 'Required'
  | 'Invalid'
  | 'Forbidden'
  | 'Duplicate'
  | 'NotSupported'
  | 'TooLong'
  | 'TooMany'
  | 'NotFound'
  | 'TypeInvalid'
  | 'Internal';

export interface FieldError {
  type: FieldErrorType;
  field: string;
  /** The offending value, as JSON; absent where the type shows none. */
  value?: string;
  detail: string;
}

const words: Record<FieldErrorType, string> = {
  Required: 'Required value',
  Invalid: 'Invalid value',
  Forbidden: 'Forbidden',
  Duplicate: 'Duplicate value',
  NotSupported: 'Unsupported value',
  TooLong: 'Too long',
  TooMany: 'Too many',
  NotFound: 'Not found',
  TypeInvalid: 'Invalid value',
  Internal: 'Internal error',
};

const valueless: ReadonlySet<FieldErrorType> = new Set(['Required', 'Forbidden', 'TooLong', 'Internal']);

/** The message without the path: `Invalid value: "x": must be y`. */
export function fieldErrorBody({ type, value, detail }: FieldError): string {
  const shown = value === undefined || valueless.has(type) ? words[type] : `${words[type]}: ${value}`;
  return detail === '' ? shown : `${shown}: ${detail}`;
}

export function fieldErrorText(error: FieldError): string {
  return `${error.field}: ${fieldErrorBody(error)}`;
}

/** The reason of a Status cause, e.g. FieldValueInvalid. */
export function fieldErrorReason(type: FieldErrorType): string {
  return type === 'Internal' ? 'InternalError' : `FieldValue${type}`;
}

/** Several errors in one message: repeated texts once, more than one in brackets. */
export function aggregateFieldErrors(errors: FieldError[]): string {
  const texts = [...new Set(errors.map(fieldErrorText))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
}

// One constructor for each type of error.

export function requiredField(field: string, detail = ''): FieldError {
  return { type: 'Required', field, detail };
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { type: 'Forbidden', field, detail };
}

export function invalidField(field: string, value: unknown, detail: string): FieldError {
  return { type: 'Invalid', field, value: JSON.stringify(value ?? null), detail };
}

export function duplicateField(field: string, value: unknown, detail = ''): FieldError {
  return { type: 'Duplicate', field, value: JSON.stringify(value ?? null), detail };
}

export function unsupportedField(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail =
    supported.length === 0 ? '' : `supported values: ${supported.map((each) => JSON.stringify(each)).join(', ')}`;
  return { type: 'NotSupported', field, value: JSON.stringify(value ?? null), detail };
}

export function tooLongField(field: string, maxBytes: number): FieldError {
  return { type: 'TooLong', field, detail: `may not be more than ${maxBytes} bytes` };
}

export function tooManyField(field: string, actual: number, max: number): FieldError {
  return { type: 'TooMany', field, value: `${actual}`, detail: `must have at most ${max} items` };
}
