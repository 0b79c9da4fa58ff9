/**
 * Compares how an unchanged config is interpreted under another kubelet: each minor on the way reads the same document, local files and
 * flags, and neighbouring minors are compared.
 *
 *   rejected    a kubelet would not start with it         error; a warning where only a minor in between rejects it
 *   default     unset, and its default changes            warning
 *   meaning     set, and its meaning changes              warning
 *   added       ignored until now, known from now on      warning
 *   removed     known until now, ignored from now on      warning
 *   accepted    rejected until now                        note
 *   deprecated  accepted, but not for long or no effect   note
 *
 * A warning that cannot matter with this config or on this host is a note.
 */
import { jsonText } from '../json.js';
import { type CheckOptions, type Examination, examine, type Place } from './check.js';
import { examineOverlay } from './check-overlay.js';
import { setDefaults } from './defaults.js';
import { existsIn, type Field, fields, isLeaf } from './fields.js';
import { flagAt } from './flags.js';
import { type Gates, gateAt, gatesIn } from './gates.js';
import { isKnownBug } from './known-bugs.js';
import type { LocalFile } from './merge.js';
import {
  childPath,
  type Finding,
  fieldOf,
  getField,
  type KubeletConfig,
  knownMinor,
  type Minor,
  newestMinor,
  oldestMinor,
} from './model.js';
import { gatesOfFlags } from './rules/command-line.js';
import { type ConfigView, viewOf } from './rules/config-view.js';
import { sameValue } from './same-value.js';
import { defaultEffects } from './upgrade/default-effects.js';
import { gateGroups, groupChange } from './upgrade/gate-groups.js';
import { type Meaning, meanings } from './upgrade/meanings.js';

export interface UpgradeOptions extends Omit<CheckOptions, 'minor' | 'lenient'> {
  from: Minor;
  to: Minor;
  /** The text is an overlay over these. */
  local?: readonly LocalFile[];
}

export type UpgradeChange = 'rejected' | 'default' | 'meaning' | 'added' | 'removed' | 'accepted' | 'deprecated';

export interface UpgradeFinding extends Finding {
  change: UpgradeChange;
  /** The first minor of which it is true; of an error that the present kubelet reports as well, that one. */
  since: Minor;
  /** The last minor that takes it, where a later one is known to reject it. */
  until?: Minor;
  /** A flag of the kubelet sets it, `--event-qps`: the place is the command line. */
  flag?: string;
}

export interface UpgradeResult {
  from: Minor;
  to: Minor;
  /** Start of the new kubelet. */
  startup: 'ok' | 'fails';
  /** Errors first, then by minor. */
  findings: UpgradeFinding[];
}

/** `text` is a whole config, or an overlay where `local` is given. */
export function upgradeCheck(text: string, options: UpgradeOptions): UpgradeResult {
  const [from, to] = [knownMinor(options.from), knownMinor(options.to)];
  const kubelets = new Map<Minor, Kubelet>();
  for (let minor = from; minor <= newestMinor; minor++) kubelets.set(minor, examineAt(text, minor, options));
  const way: Way = { from, to, at: (minor) => kubelets.get(minor)! };
  const rejected = rejections(way);
  const errors = new Set(rejected.filter(({ severity }) => severity === 'error').map(({ path }) => path));
  const isRejected = ({ path }: Finding) => errors.has(path);
  const findings = [
    ...rejected,
    ...[
      ...movedDefaults(way),
      ...fieldChanges(way),
      ...meaningChanges(way),
      ...groupChanges(way),
      ...newBugs(way),
      ...deprecations(way),
    ].filter((finding) => !isRejected(finding)),
  ];
  return {
    from,
    to,
    startup: way.at(to).examined.result.startup,
    findings: findings.map((finding) => placed(finding, way)).sort(bySeverity),
  };
}

/** One minor, and what its kubelet makes of the document. */
interface Kubelet {
  minor: Minor;
  examined: Examination;
  /** Undefined if nothing could be decoded. */
  view: ConfigView | undefined;
  /** By path, or by message where there is none. */
  errors: ReadonlyMap<string, Finding>;
}

interface Way {
  from: Minor;
  to: Minor;
  at(minor: Minor): Kubelet;
}

function examineAt(text: string, minor: Minor, { from: _from, to, local, patch, ...options }: UpgradeOptions): Kubelet {
  const given = { ...options, minor, patch: minor === to ? patch : undefined, lenient: true };
  const examined = local === undefined ? examine(text, given) : examineOverlay(text, { ...given, local });
  const { config, document, flags, result } = examined;
  const context = { minor, flags, ...(document && { document }), ...(options.host && { host: options.host }) };
  const errors = result.findings.filter(({ severity }) => severity === 'error');
  return {
    minor,
    examined,
    view: config && viewOf(config, context),
    errors: new Map(errors.map((error) => [error.path || error.message, error])),
  };
}

/** Each minor of the way with the one before it. */
function* stepsOf({ from, to, at }: Way): Generator<{ before: Kubelet; after: Kubelet }> {
  for (let minor = from + 1; minor <= to; minor++) yield { before: at(minor - 1), after: at(minor) };
}

/** Errors of any kubelet from the present one to the newest known. */
function rejections(way: Way): UpgradeFinding[] {
  const names = new Set<string>();
  for (let minor = way.from; minor <= newestMinor; minor++)
    for (const name of way.at(minor).errors.keys()) names.add(name);
  return [...names].flatMap((name) => rejection(name, way) ?? []);
}

function rejection(name: string, { from, to, at }: Way): UpgradeFinding | undefined {
  const errorAt = (minor: Minor) => at(minor).errors.get(name);
  const error = errorAt(to);
  if (error !== undefined) {
    let since = to;
    while (since > from && errorAt(since - 1) !== undefined) since--;
    return { ...error, ...remedyOf(error, since), change: 'rejected', since };
  }
  let last = to - 1;
  while (last >= from && errorAt(last) === undefined) last--;
  if (last < from) return rejectedLater(name, { from, to, at });
  const { message, ...before } = errorAt(last)!;
  if (errorAt(from) === undefined) {
    let since = last;
    while (errorAt(since - 1) !== undefined) since--;
    const which = since === last ? `1.${last}` : `1.${since} to 1.${last}`;
    const only = `only on the way: kubelet ${which} would not start with it, 1.${to} does`;
    return { ...before, severity: 'warning', change: 'rejected', since, message: `${only}. ${message}` };
  }
  // Reported as accepted only if no other error is left.
  if (at(to).errors.size > 0) return undefined;
  const { remedy: _remedy, ...place } = before;
  const accepted = `kubelet 1.${from} would not start with it, and 1.${last + 1} does`;
  return { ...place, severity: 'note', source: 'relet', change: 'accepted', since: last + 1, message: accepted };
}

function rejectedLater(name: string, { to, at }: Way): UpgradeFinding {
  let until = to;
  while (!at(until + 1).errors.has(name)) until++;
  const error = at(until + 1).errors.get(name)!;
  const message = `kubelet 1.${until + 1} would not start with it: ${error.message}`;
  return { ...error, ...remedyOf(error, until + 1), severity: 'note', change: 'deprecated', since: to, until, message };
}

/** Remedy for an error of that minor, if the check itself has none. */
function remedyOf({ path, remedy }: Finding, since: Minor): { remedy?: string } {
  if (remedy !== undefined) return { remedy };
  const last = path.startsWith('--') ? lastMinorOf(path.slice(2)) : undefined;
  if (last !== undefined && last < since)
    return { remedy: `take it off the command line of the kubelet: 1.${last} is the last version that knows it` };
  const ofDefault = defaultEffects[path]?.remedy;
  return ofDefault === undefined ? {} : { remedy: ofDefault };
}

/** Last minor of a flag that was removed. */
function lastMinorOf(flag: string): Minor | undefined {
  let minor = newestMinor;
  while (minor >= oldestMinor && flagAt(flag, minor) === undefined) minor--;
  return minor < oldestMinor ? undefined : minor;
}

interface Move {
  path: string;
  field: string;
  /** From each minor on, the present kubelet's value first. */
  values: [Minor, unknown][];
  /** Whether a step matters. */
  matters: boolean;
}

/** Values that no document and no flag change, and that differ all the same. */
function movedDefaults(way: Way): UpgradeFinding[] {
  const moves = new Map<string, Move>();
  for (const { before, after } of stepsOf(way)) {
    if (before.view === undefined || after.view === undefined) continue;
    for (const field of fields) {
      // Gates are only what somebody set.
      if (
        !isLeaf(field) ||
        field.path === 'featureGates' ||
        !existsIn(field, before.minor) ||
        !existsIn(field, after.minor)
      )
        continue;
      for (const [path, one, other] of differences(field, before.view, after.view)) {
        const matters = defaultEffects[field.path]?.matters?.(after.view, before.view) ?? true;
        const move = moves.get(path) ?? { path, field: field.path, values: [[way.from, one]], matters: false };
        move.values.push([after.minor, other]);
        moves.set(path, { ...move, matters: move.matters || matters });
      }
    }
  }
  return [...moves.values()].flatMap((move) => moveFinding(move, way));
}

function differences(field: Field, before: ConfigView, after: ConfigView): [path: string, unknown, unknown][] {
  const { path } = field;
  const [one, other] = [before.get(path) ?? null, after.get(path) ?? null];
  if (!field.goType.startsWith('map[')) return sameValue(one, other, path) ? [] : [[path, one, other]];
  const [a, b] = [(one ?? {}) as KubeletConfig, (other ?? {}) as KubeletConfig];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((key) => !sameValue(a[key], b[key], `${path}{}`))
    .map((key) => [childPath(path, key, 'key'), a[key] ?? null, b[key] ?? null]);
}

function moveFinding({ path, field, values, matters }: Move, way: Way): UpgradeFinding[] {
  const [[, first], ...others] = values as [[Minor, unknown], ...[Minor, unknown][]];
  const [since] = others[0]!;
  if (sameValue(first, others.at(-1)![1], path)) return [];
  const isWritten = isSetBy(way.at(way.to).examined, path, way.to);
  const chain = others
    .map(([minor, value], index) => `${index === 0 ? '' : `in 1.${minor} `}to ${shown(value)}`)
    .join(', ');
  const { effect, remedy = keep(path, first, way.from) } = defaultEffects[field] ?? {};
  const what = isWritten ? 'what it means changes' : 'it is not set, and its default changes';
  return [
    {
      severity: matters ? 'warning' : 'note',
      source: 'relet',
      change: isWritten ? 'meaning' : 'default',
      since,
      path,
      message: `${what} from ${shown(first)} ${chain}${effect === undefined ? '' : `: ${effect}`}`,
      ...(matters && remedy !== undefined && { remedy }),
    },
  ];
}

const shown = (value: unknown): string => (value === null || value === '' ? 'none' : asText(value));

const asText = (value: unknown): string => (typeof value === 'string' ? value : jsonText(value));

const keep = (path: string, value: unknown, from: Minor): string | undefined =>
  value === null || value === '' ? undefined : `write ${path}: ${asText(value)} to keep what 1.${from} does`;

/** The document has it, or a flag. */
const isSetBy = (examined: Examination, path: string, minor: Minor): boolean =>
  examined.placeOf(path) !== undefined || flagOf(examined, path, minor) !== undefined;

function flagOf({ flags }: Examination, path: string, minor: Minor): string | undefined {
  if (path.startsWith('--')) return path;
  const field = fieldOf(path);
  const name = [...flags.keys()].find((flag) => flagAt(flag, minor)?.field === field);
  return name === undefined ? undefined : `--${name}`;
}

/** Fields that come or go while the document sets them. */
function fieldChanges(way: Way): UpgradeFinding[] {
  return [...stepsOf(way)].flatMap(({ before, after }) => {
    const isSetIn = ({ examined }: Kubelet, path: string) => (getField(examined.document ?? {}, path) ?? null) !== null;
    const added = fields.filter((field) => isLeaf(field) && field.first === after.minor && isSetIn(after, field.path));
    const removed = fields.filter(
      (field) => isLeaf(field) && field.last === before.minor && isSetIn(before, field.path),
    );
    return [
      ...added.map(({ path }) => addedFinding(path, after)),
      ...removed.map(({ path }): UpgradeFinding => {
        const message = `kubelet 1.${after.minor} no longer knows it, and ignores it`;
        return {
          severity: 'warning',
          source: 'relet',
          change: 'removed',
          since: after.minor,
          path,
          message,
          remedy: 'remove it',
        };
      }),
    ];
  });
}

function addedFinding(path: string, { minor, view, examined }: Kubelet): UpgradeFinding {
  const isDefault = sameValue(view?.get(path), defaultAt(path, minor, examined), path);
  const effect = isDefault ? 'it is known from then on, with its default' : 'it has an effect from then on';
  return {
    severity: isDefault ? 'note' : 'warning',
    source: 'relet',
    change: 'added',
    since: minor,
    path,
    message: `kubelet 1.${minor - 1} does not know it and ignores it; ${effect}`,
    ...(!isDefault && { remedy: `remove it to keep what 1.${minor - 1} does` }),
  };
}

/** Value of the field if the document did not set it. */
function defaultAt(path: string, minor: Minor, { flags, document }: Examination): unknown {
  return viewOf(setDefaults({ featureGates: document?.featureGates ?? null }, minor), { minor, flags }).get(path);
}

function meaningChanges(way: Way): UpgradeFinding[] {
  return meanings.flatMap((meaning) => {
    const isOnTheWay = meaning.change === 'meaning' ? way.from < meaning.since : true;
    if (!isOnTheWay || meaning.since > way.to) return [];
    // A minor that begins in between is where a meaning changes; what is deprecated stays so.
    const minor = meaning.change === 'meaning' ? meaning.since : way.to;
    const [after, before] = [way.at(minor).view, way.at(Math.max(minor - 1, way.from)).view];
    if (after === undefined || before === undefined || !meaning.affects(after, before)) return [];
    return [meaningFinding(meaning)];
  });
}

const meaningFinding = ({ severity, change, since, field, what, remedy }: Meaning): UpgradeFinding => ({
  severity,
  source: 'relet',
  change,
  since,
  path: field,
  message: what,
  remedy,
});

/** Known bugs of the new kubelet that the config triggers, and did not before. Crashes are among the rejections. */
function newBugs({ to, from, at }: Way): UpgradeFinding[] {
  const before = bugsAt(at(from));
  return bugsAt(at(to))
    .filter(({ path }) => !before.some((bug) => bug.path === path))
    .map((bug) => ({ ...bug, change: 'meaning', since: to }));
}

const bugsAt = ({ examined: { result } }: Kubelet): Finding[] =>
  result.findings.filter(({ severity, message }) => severity === 'warning' && isKnownBug(message));

function groupChanges({ from, to, at }: Way): UpgradeFinding[] {
  return gateGroups.flatMap((group): UpgradeFinding[] => {
    const message = groupChange(group, gatesSetIn(at(to)), { from, to });
    if (message === undefined) return [];
    const remedy = 'name the gates that you need instead';
    const path = `featureGates[${group}]`;
    return [{ severity: 'warning', source: 'relet', change: 'meaning', since: to, path, message, remedy }];
  });
}

function gatesSetIn({ examined: { flags, document } }: Kubelet): Gates {
  return { ...gatesOfFlags(flags), ...gatesIn(document ?? {}) };
}

/** Gates that can still be set, and that a kubelet to come will not know. */
function deprecations({ to, at }: Way): UpgradeFinding[] {
  const rejectedLater = (path: string) => {
    for (let minor = to; minor <= newestMinor; minor++) if (at(minor).errors.has(path)) return true;
    return false;
  };
  return Object.keys(gatesSetIn(at(to))).flatMap((name): UpgradeFinding[] => {
    const path = `featureGates[${name}]`;
    const stage = gateAt(name, to)?.stage;
    if ((stage !== 'GA' && stage !== 'Deprecated') || rejectedLater(path) || rejectedLater('--feature-gates'))
      return [];
    const message = `${stage === 'GA' ? 'the feature is GA' : 'the gate is deprecated'}: a later kubelet will no longer know the gate, and will not start with it`;
    return [{ severity: 'note', source: 'relet', change: 'deprecated', since: to, path, message, remedy: 'remove it' }];
  });
}

/** Adds the place that sets the field: a flag comes before the document. Findings of a check have their place already. */
function placed(finding: UpgradeFinding, { from, to, at }: Way): UpgradeFinding {
  const near = finding.change === 'removed' ? from : to;
  const { examined } = at(near);
  const flag = flagOf(examined, finding.path, near) ?? flagOf(at(from).examined, finding.path, from);
  const isGate = finding.path.startsWith('featureGates[') && examined.placeOf(finding.path) !== undefined;
  if (flag !== undefined && !isGate) {
    const { file: _file, line: _line, column: _column, remedy, ...rest } = finding;
    const wins = rest.path === flag ? '' : `; the flag ${flag} wins over the config`;
    return { ...rest, flag, ...(remedy !== undefined && { remedy: `${remedy}${wins}` }) };
  }
  const place: Place | undefined = finding.line === undefined ? examined.placeOf(finding.path) : undefined;
  return { ...finding, ...place };
}

const order = ['error', 'warning', 'note'];

const bySeverity = (a: UpgradeFinding, b: UpgradeFinding): number =>
  order.indexOf(a.severity) - order.indexOf(b.severity) || a.since - b.since || (a.line ?? 0) - (b.line ?? 0);
