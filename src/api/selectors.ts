/** Label and field selectors, read as Kubernetes reads them. */

/** The name that a field selector asks for, if it asks for exactly one: `metadata.name=x`. */
export function exactName(fieldSelector: string): string | undefined {
  for (const term of fieldSelector.split(',')) {
    const match = /^metadata\.name==?(?!=)(.*)$/.exec(term);
    if (match !== null && /^[^/%]+$/.test(match[1]!) && match[1] !== '.' && match[1] !== '..') return match[1];
  }
  return undefined;
}
