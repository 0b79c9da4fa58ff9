/**
 * `relet set`: changes fields of the assigned config without an editor. Builds on the assigned overlay, or starts one on a node with
 * its local config; a whole config stays whole. Nodes with the same result share one ConfigMap.
 */
import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { formatPath } from '../../config/field-path.js';
import { fieldAt } from '../../config/fields.js';
import { getField } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { FieldWordError, looksLikeSetting } from '../../config/set-field.js';
import { configState } from '../../fleet/configured-node.js';
import { type FieldStatement, parseStatements, withStatements } from '../../fleet/payload.js';
import { selectNodes, withResultSession } from '../session.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import {
  assignedText,
  type NodeNow,
  newTarget,
  notesOnStart,
  overlayFor,
  type RequestedChange,
  readNow,
  warningsOnFailed,
} from './plan.js';

export interface SetOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
  unset?: string[];
  /** Turn a whole config into an overlay first. */
  overlay?: boolean;
}

export const set = (words: string[], options: SetOptions): Promise<void> =>
  withResultSession(options, async (session) => {
    const settings = words.filter(looksLikeSetting);
    const names = words.filter((word) => !looksLikeSetting(word));
    if (settings.length === 0 && options.unset === undefined)
      throw new CannotRun(
        `nothing to set: ${guess(names) ?? "write FIELD=VALUE, as in 'relet set node-1 maxPods=150'"}`,
      );
    const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
    const requested = (await readNow(session, nodes)).map((now) => withSettings(now, settings, options));
    await changeTo(session, 'set', requested, { ...options, question: (which) => `Change ${which}?` });
  });

/** `relet set node-1 maxPods 100`: the field and the value are two words. */
function guess(words: string[]): string | undefined {
  const at = words.findIndex((word) => fieldAt(word) !== undefined);
  const [field, value] = [words[at], words[at + 1]];
  return at < 1 || value === undefined ? undefined : `did you mean ${field}=${value}?`;
}

function withSettings(now: NodeNow, settings: string[], options: SetOptions): RequestedChange {
  const { node, minor } = now;
  const assigned = assignedText(now);
  try {
    const start = options.overlay ? overlayFor(now, assigned) : assigned;
    const statements = parseStatements(settings, options.unset ?? [], minor);
    const text = withStatements(start, statements, minor);
    const notes = [...notesOnStart(now, start), ...(text === start ? notesOnLocal(now, statements) : [])];
    const warnings = warningsOnFailed(now, text);
    const already = options.overlay ? undefined : nothingToDrop(now, statements);
    const isNothing = already !== undefined && text === start;
    return { now, target: newTarget(text), notes, warnings, isNothing, ...(already && { already }) };
  } catch (error) {
    if (error instanceof FieldWordError) throw new CannotRun(error.message);
    if (error instanceof DecodeError)
      throw new CannotRun(
        `${node.name} is assigned a config that cannot be read (${error.message}); correct it with 'relet edit ${node.name}'`,
      );
    throw error;
  }
}

/** Text that is printed if `FIELD-` changes nothing. A node that failed is reported as such instead. */
function nothingToDrop({ node, minor, assigned }: NodeNow, statements: FieldStatement[]): string | undefined {
  const isDrop = statements.every(({ value, unset }) => value === undefined && !unset);
  const isWhole = assigned.text !== undefined && !isOverlay(assigned.text);
  if (!isDrop || isWhole || ['rejected', 'rolled back'].includes(configState(node))) return undefined;
  const names = statements.map(({ path }) => formatPath(path, minor));
  return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not in its overlay, nothing to change`;
}

/** `FIELD-` removes the field from the overlay. A value in the local config stays. */
function notesOnLocal({ local, minor }: NodeNow, statements: FieldStatement[]): string[] {
  return statements
    .filter(
      ({ path, value, unset }) =>
        value === undefined && !unset && local && getField(local, path.join('.')) !== undefined,
    )
    .map(({ path }) => formatPath(path, minor))
    .map(
      (name) => `${name} is set by the local config, not by an overlay; --unset ${name} applies the kubelet's default.`,
    );
}
