/** Label selectors as objects, `{matchLabels, matchExpressions}`: validation. */

import type { LabelSelectorObject } from '../../api/label-selector.js';
import { checkLabelValue, checkQualifiedName } from '../../api/names.js';
import { type FieldError, forbiddenField, invalidField, requiredField } from './field-error.js';

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

export function validateSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelectorObject,
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

type Expression = NonNullable<LabelSelectorObject['matchExpressions']>[number];

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
