/** Validation errors as Kubernetes words them: a path, a type, a value and a detail. */

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
  /** The offending value, already rendered as Go would print it; absent where the type shows none. */
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
