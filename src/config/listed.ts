/**
 * Limits the number of findings. A document of 100 kB can cause 50,000, which nobody reads and every consumer pays for: for each field
 * the first 100 are listed, and one more finding of the same severity counts the others. Pure.
 */
import { fieldAt } from './fields.js';
import { type Finding, fieldOf } from './model.js';

/** For each field, severity and source; all names that are not fields count as one. */
export const mostListed = 100;

/** Stands for the findings that are not listed, at the place of the first of them. */
export function moreFindings(more: number, first: Finding, field = ''): Finding {
  const { severity, source, file, line, column } = first;
  return {
    severity,
    source,
    path: field,
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    message: sentence(more, severity, field),
    more,
  };
}

/** `4900 more errors about enforceNodeAllocatable are not listed`. */
const sentence = (more: number, severity: Finding['severity'], field: string): string =>
  `${more} more ${severity}${more === 1 ? '' : 's'}${field && ` about ${field}`} ${more === 1 ? 'is' : 'are'} not listed`;

/** Lists the first ones of each field while they are found, so that a list of 10,000 mistakes takes no memory for each. */
export class FirstOnes<One extends { path: string; message: string; more?: number }> {
  readonly list: One[] = [];
  private readonly counts = new Map<string, { count: number; others?: One }>();

  add(one: One, severity: Finding['severity']): void {
    const field = fieldOf(one.path);
    const group = `${severity} ${field}`;
    const known = this.counts.get(group) ?? { count: 0 };
    if (known.count++ === 0) this.counts.set(group, known);
    if (known.count <= mostListed) {
      this.list.push(one);
      return;
    }
    if (known.others === undefined) {
      known.others = { ...one, path: field };
      this.list.push(known.others);
    }
    known.others.more = known.count - mostListed;
    known.others.message = sentence(known.others.more, severity, field);
  }
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
