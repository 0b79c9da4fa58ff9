/** Names, keys and labels that Kubernetes accepts, and its messages for those that it rejects. An empty list means accepted. */

const maxLabel = 63;
const maxSubdomain = 253;

const labelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`;
const qualifiedPattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValuePattern = `(${qualifiedPattern})?`;
const configMapKeyPattern = '[-._a-zA-Z0-9]+';

const edges = 'and must start and end with an alphanumeric character';

export function checkDnsLabel(value: string): string[] {
  if (matches(labelPattern, value)) return tooLong(value, maxLabel);
  if (matches(subdomainPattern, value)) return [...tooLong(value, maxLabel), 'must not contain dots'];
  const rule = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${edges}`;
  return [...tooLong(value, maxLabel), regexError(rule, labelPattern, 'my-name', '123-abc')];
}

export function checkDnsSubdomain(value: string): string[] {
  const rule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${edges}`;
  return check(value, maxSubdomain, subdomainPattern, rule, 'example.com');
}

export function checkLabelValue(value: string): string[] {
  const rule = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${edges}`;
  return check(value, maxLabel, labelValuePattern, rule, 'MyValue', 'my_value', '12345');
}

/** Keys of labels, annotations, taints; names of finalizers: a name with an optional domain before a slash. */
export function checkQualifiedName(value: string): string[] {
  const rule = `must consist of alphanumeric characters, '-', '_' or '.', ${edges}`;
  const wrong = regexError(rule, qualifiedPattern, 'MyName', 'my.name', '123-abc');
  const parts = value.split('/');
  if (parts.length > 2)
    return [`a qualified name ${wrong} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const name = parts.at(-1)!;
  const found: string[] = [];
  if (parts.length === 2) found.push(...checkPrefix(parts[0]!));
  if (name === '') found.push('name part must be non-empty');
  else if (name.length > maxLabel) found.push(`name part must be no more than ${maxLabel} characters`);
  if (!matches(qualifiedPattern, name)) found.push(`name part ${wrong}`);
  return found;
}

export function checkConfigMapKey(value: string): string[] {
  const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const found = check(value, maxSubdomain, configMapKeyPattern, rule, 'key.name', 'KEY_NAME', 'key-name');
  if (value === '.' || value === '..') found.push(`must not be '${value}'`);
  else if (value.startsWith('..')) found.push("must not start with '..'");
  return found;
}

/** The most permissive rule: any valid path segment. RBAC objects use it. */
export function checkPathSegment(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

/** How the names of one kind are checked. As a prefix, a name may end in a dash: random characters follow it. */
export type NameRule = (name: string, isPrefix: boolean) => string[];

export const nameIsDnsLabel: NameRule = (name, isPrefix) => checkDnsLabel(isPrefix ? maskTrailingDash(name) : name);
export const nameIsDnsSubdomain: NameRule = (name, isPrefix) =>
  checkDnsSubdomain(isPrefix ? maskTrailingDash(name) : name);

function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

function checkPrefix(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return checkDnsSubdomain(prefix).map((message) => `prefix part ${message}`);
}

function check(value: string, max: number, pattern: string, rule: string, ...examples: string[]): string[] {
  const found = tooLong(value, max);
  if (!matches(pattern, value)) found.push(regexError(rule, pattern, ...examples));
  return found;
}

function tooLong(value: string, max: number): string[] {
  return new TextEncoder().encode(value).length > max ? [`must be no more than ${max} characters`] : [];
}

function regexError(rule: string, pattern: string, ...examples: string[]): string {
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`;
}

const compiled = new Map<string, RegExp>();

function matches(pattern: string, value: string): boolean {
  let regex = compiled.get(pattern);
  if (regex === undefined) {
    regex = new RegExp(`^(?:${pattern})$`);
    compiled.set(pattern, regex);
  }
  return regex.test(value);
}
