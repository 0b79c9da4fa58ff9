/**
 * The findings that are listed. A document of 100 kB can have 50,000, each of which costs time wherever it goes, and nobody reads so many:
 * the first ones of a field have a finding of their own, the others are counted in one that is as severe. Pure.
 */
import { fieldAt } from './fields.js';
import { type Finding, fieldOf } from './model.js';

/** For each field, severity and source; all names that are not fields count as one. */
export const mostListed = 100;

/** Stands for the findings that are not listed, at the place of the first of them. */
export function moreFindings(more: number, first: Finding, field = ''): Finding {
  const { severity, source, file, line, column } = first;
  const about = field === '' ? '' : ` about ${field}`;
  return {
    severity,
    source,
    path: field,
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    message: `${more} more ${severity}${more === 1 ? '' : 's'}${about} ${more === 1 ? 'is' : 'are'} not listed`,
    more,
  };
}

export function listed(findings: Finding[]): Finding[] {
  if (findings.length <= mostListed) return findings;
  const counts = new Map<string, number>();
  const others = new Map<string, { first: Finding; field: string; more: number }>();
  const kept = findings.filter((finding) => {
    const { severity, source, file = '', path, more = 1 } = finding;
    const field = fieldAt(fieldOf(path)) === undefined ? '' : fieldOf(path);
    const group = `${severity}\0${source}\0${file}\0${field}`;
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    if (count <= mostListed) return true;
    const other = others.get(group);
    if (other === undefined) others.set(group, { first: finding, field, more });
    else other.more += more;
    return false;
  });
  return [...kept, ...[...others.values()].map(({ first, field, more }) => moreFindings(more, first, field))];
}

/** How many findings these stand for. */
export const countOf = (findings: readonly Finding[]): number =>
  findings.reduce((count, { more = 1 }) => count + more, 0);
