/** Whether rules cover other rules, for the escalation check and for completing default roles. */
import type { PolicyRule } from './policy-rule.js';

/** The smallest pieces of `wanted` that `owned` does not grant; empty when all is covered. */
export function uncovered(owned: PolicyRule[], wanted: PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((piece) => !owned.some((rule) => coversPiece(rule, piece)));
}

/** One verb, one resource, one name each, so that a piece is granted by one rule wholly or not at all. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? [])
    for (const resource of rule.resources ?? [])
      for (const verb of rule.verbs)
        for (const name of rule.resourceNames?.length ? rule.resourceNames : [undefined])
          pieces.push({
            apiGroups: [group],
            resources: [resource],
            ...(name === undefined ? {} : { resourceNames: [name] }),
            verbs: [verb],
          });
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of rule.verbs) pieces.push({ nonResourceURLs: [url], verbs: [verb] });
  return pieces;
}

function coversPiece(owned: PolicyRule, piece: PolicyRule): boolean {
  return (
    holds(owned.verbs, piece.verbs[0]) &&
    holds(owned.apiGroups, piece.apiGroups?.[0]) &&
    coversResource(owned.resources ?? [], piece.resources?.[0]) &&
    coversName(owned.resourceNames ?? [], piece.resourceNames?.[0]) &&
    coversUrl(owned.nonResourceURLs ?? [], piece.nonResourceURLs?.[0])
  );
}

const holds = (owned: string[] | undefined, wanted: string | undefined) =>
  wanted === undefined || (owned !== undefined && (owned.includes('*') || owned.includes(wanted)));

function coversResource(owned: string[], wanted: string | undefined): boolean {
  if (wanted === undefined || holds(owned, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash !== -1 && owned.includes(`*${wanted.slice(slash)}`);
}

const coversName = (owned: string[], wanted: string | undefined) =>
  owned.length === 0 || (wanted !== undefined && owned.includes(wanted));

const coversUrl = (owned: string[], wanted: string | undefined) =>
  wanted === undefined ||
  owned.some((url) => url === wanted || (url.endsWith('*') && wanted.startsWith(url.replace(/\*+$/, ''))));
