/** Differences between one kubelet minor and the next, for any config. docs/upgrades.md is generated from this. */
import { flagRows, otherFlags } from './facts/flag-rows.js';
import { type RuleRow, ruleRows } from './facts/rule-rows.js';
import { fields, isLeaf } from './fields.js';
import { flagAt } from './flags.js';
import { type Gate, gateAt, gatesOf } from './gates.js';
import { emptyDocument } from './header.js';
import type { Minor } from './model.js';
import { type Meaning, meanings } from './upgrade/meanings.js';
import { type UpgradeFinding, upgradeCheck } from './upgrade-check.js';

export interface MinorChanges {
  fieldsAdded: string[];
  fieldsRemoved: string[];
  /** Changed defaults of a document that sets nothing. */
  defaults: UpgradeFinding[];
  /** Values that are rejected from this minor on, and values that are accepted from it on. */
  rejected: RuleRow[];
  accepted: RuleRow[];
  meanings: Meaning[];
  /** Off by default, and on by default. */
  gatesAdded: string[];
  gatesAddedOn: string[];
  /** On by default from this minor on, and off before. */
  gatesOn: string[];
  gatesOff: string[];
  /** With the value that they can no longer be set against. */
  gatesLocked: string[];
  gatesRemoved: string[];
  flagsAdded: string[];
  flagsRemoved: string[];
}

/** From the minor before to this one. */
export function changesIn(minor: Minor): MinorChanges {
  const leaves = fields.filter(isLeaf);
  const rules = ruleRows.filter(([since]) => since === minor);
  const { findings } = upgradeCheck(emptyDocument, { from: minor - 1, to: minor });
  const known = gatesOf(minor).map((name) => ({ name, before: gateAt(name, minor - 1), after: gateAt(name, minor)! }));
  const gates = (isMeant: (after: Gate, before: Gate | undefined) => boolean) =>
    known.filter(({ before, after }) => isMeant(after, before)).map(({ name }) => name);
  const flags = (at: Minor, notAt: Minor) =>
    flagNames.filter((name) => flagAt(name, at) !== undefined && flagAt(name, notAt) === undefined);
  return {
    fieldsAdded: leaves.filter(({ first }) => first === minor).map(({ path }) => path),
    fieldsRemoved: leaves.filter(({ last }) => last === minor - 1).map(({ path }) => path),
    defaults: findings.filter(({ change }) => change === 'default'),
    rejected: rules.filter(([, sign]) => sign === '+'),
    accepted: rules.filter(([, sign]) => sign === '-'),
    meanings: meanings.filter(({ since }) => since === minor),
    gatesAdded: gates((after, before) => before === undefined && !after.default),
    gatesAddedOn: gates((after, before) => before === undefined && after.default),
    gatesOn: gates((after, before) => before?.default === false && after.default),
    gatesOff: gates((after, before) => before?.default === true && !after.default),
    gatesLocked: gates((after, before) => after.locked && before?.locked !== true),
    gatesRemoved: gatesOf(minor - 1).filter((name) => gateAt(name, minor) === undefined),
    flagsAdded: flags(minor, minor - 1),
    flagsRemoved: flags(minor - 1, minor),
  };
}

const flagNames = [
  ...flagRows.map(([name]) => name),
  ...[...otherFlags.matchAll(/([a-z0-9-]+):/g)].map(([, name]) => name!),
].sort();
