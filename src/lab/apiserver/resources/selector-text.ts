/** Label selectors and label maps as text: `app=web,tier in (a,b)`. */

interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Empty for an empty selector. */
export function selectorText(selector: unknown): string {
  const { matchLabels = {}, matchExpressions = [] } = (selector ?? {}) as LabelSelector;
  const terms = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...matchExpressions.map((expression) => ({ key: expression.key, text: expressionText(expression) })),
  ];
  return terms
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ text }) => text)
    .join(',');
}

function expressionText({ key, operator, values = [] }: { key: string; operator: string; values?: string[] }): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${operator === 'In' ? 'in' : 'notin'} (${[...values].sort().join(',')})`;
}

export function labelsText(labels: unknown): string {
  return selectorText({ matchLabels: labels ?? {} });
}
