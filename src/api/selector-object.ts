/** Converts selectors between their text form and the object form of a NodeConfigSet. Pure. */
import {
  type LabelRequirement,
  type LabelSelectorObject,
  parseLabelSelector,
  SelectorError,
} from './label-selector.js';

/** `pool=gpu,zone in (a,b),!old`; empty for the selector of all objects. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...labels, ...matchExpressions.map(expressionText)].join(',');
}

type Expression = NonNullable<LabelSelectorObject['matchExpressions']>[number];

function expressionText({ key, operator, values = [] }: Expression): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
}

/** Throws SelectorError for a text that is not a selector, and for `>` and `<`, which the object form does not have. */
export function selectorObject(text: string): LabelSelectorObject {
  const requirements = parseLabelSelector(text);
  const isLabel = ({ key, operator }: LabelRequirement) =>
    operator === '=' && requirements.filter((one) => one.key === key && one.operator === '=').length === 1;
  const matchLabels = Object.fromEntries(requirements.filter(isLabel).map(({ key, values }) => [key, values[0] ?? '']));
  const matchExpressions = requirements.filter((one) => !isLabel(one)).map(expressionOf);
  return {
    ...(Object.keys(matchLabels).length > 0 && { matchLabels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}

function expressionOf({ key, operator, values }: LabelRequirement) {
  switch (operator) {
    case '=':
    case 'in':
      return { key, operator: 'In' as const, values };
    case '!=':
    case 'notin':
      return { key, operator: 'NotIn' as const, values };
    case 'exists':
      return { key, operator: 'Exists' as const };
    case '!':
      return { key, operator: 'DoesNotExist' as const };
    default:
      throw new SelectorError(`a set cannot select by ${key} ${operator} ${values[0]}; use 'in' with the values`);
  }
}
