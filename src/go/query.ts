/** Queries as Go reads them: a part with a semicolon or a broken escape is not there. */

const unreadable = /;|%(?![0-9a-fA-F]{2})/;

export function goQuery(search: string): URLSearchParams {
  if (!unreadable.test(search)) return new URLSearchParams(search);
  const parts = search.replace(/^\?/, '').split('&');
  return new URLSearchParams(parts.filter((part) => !unreadable.test(part)).join('&'));
}
