/** Patterns of preloadedImagesVerificationAllowlist: `registry.example/team/*` or one image without tag and digest. */

const alphanumeric = '[a-z0-9]+';
const component = `${alphanumeric}(?:(?:[._]|__|-+)${alphanumeric})*`;
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(
  `^((?:${domain}/)?${component}(?:/${component})*)(?::(\\w[\\w.-]{0,127}))?(?:@(${digest}))?$`,
);

/** What the kubelet says against a pattern; undefined when it takes it. */
export function imagePatternError(pattern: string, minor: number): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith('/*');
  const trimmed = isWildcard ? pattern.slice(0, -1) : pattern;
  if (trimmed === '') return `the supplied pattern is too short: ${pattern}`;
  if (trimmed.includes('*'))
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isWildcard) return trimmed.length === 1 ? 'at least registry hostname is required' : undefined;
  // Until 1.35 docker's short names were completed first, so that only a full name equals itself.
  const full = minor < 36 ? complete(trimmed) : trimmed;
  const match = reference.exec(full);
  if (match === null) {
    const reason = reference.test(full.toLowerCase())
      ? 'repository name must be lowercase'
      : 'invalid reference format';
    return `failed to parse as an image name: ${reason}`;
  }
  return match[1] === trimmed ? undefined : `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

/** `ubuntu` is docker.io/library/ubuntu, `team/app` is docker.io/team/app. */
function complete(name: string): string {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const hasDomain = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const host = hasDomain ? (first === 'index.docker.io' ? 'docker.io' : first) : 'docker.io';
  const rest = hasDomain ? name.slice(slash + 1) : name;
  return host === 'docker.io' && !rest.includes('/') ? `docker.io/library/${rest}` : `${host}/${rest}`;
}
