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
