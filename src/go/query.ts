/** Parses URL queries as Go's net/url does: parts with a semicolon or an invalid escape are dropped. */

const unreadable = /;|%(?![0-9a-fA-F]{2})/;

export function goQuery(search: string): URLSearchParams {
  if (!unreadable.test(search)) return new URLSearchParams(search);
  const parts = search.replace(/^\?/, '').split('&');
  return new URLSearchParams(parts.filter((part) => !unreadable.test(part)).join('&'));
}
