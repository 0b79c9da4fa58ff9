/** Label selectors as objects, `{matchLabels, matchExpressions}`: matching and validation. */

import { checkLabelValue, checkQualifiedName } from '../../api/names.js';
import { type FieldError, forbiddenField, invalidField, requiredField } from './field-error.js';

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** An empty selector selects everything. */
export function selectsLabels(selector: LabelSelector, labels: Record<string, string> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(key);
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      return operator === 'Exists' ? value !== undefined : operator === 'DoesNotExist' && value === undefined;
    })
  );
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

export function validateSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  path: string,
): FieldError[] {
  return [
    ...Object.entries(matchLabels).flatMap(([key, value]) => [
      ...checkQualifiedName(key).map((wrong) => invalidField(`${path}.matchLabels`, key, wrong)),
      ...checkLabelValue(value).map((wrong) => invalidField(`${path}.matchLabels`, value, wrong)),
    ]),
    ...matchExpressions.flatMap((expression, index) =>
      validateExpression(expression, `${path}.matchExpressions[${index}]`),
    ),
  ];
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

function validateExpression({ key, operator, values = [] }: Expression, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(requiredField(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(
        forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
  } else errors.push(invalidField(`${path}.operator`, operator, 'not a valid selector operator'));
  return [...errors, ...checkQualifiedName(key).map((wrong) => invalidField(`${path}.key`, key, wrong))];
}
