/** JSON values as Go's %#v prints them: some messages of Kubernetes show values that way. */

export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]interface {}{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${goSyntax(entry)}`).join(', ')}}`;
}
