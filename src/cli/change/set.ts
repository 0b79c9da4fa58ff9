/** `relet set`: changes fields of the configs that nodes are assigned, without an editor. One ConfigMap for each distinct result. */

import { CannotRun } from '../../cannot-run.js';
import { DecodeError, decode } from '../../config/decode.js';
import { setDefaults } from '../../config/defaults.js';
import { fieldAt } from '../../config/fields.js';
import { getField, type KubeletConfig } from '../../config/model.js';
import { FieldWordError, looksLikeSetting, parseSetting, withSetting } from '../../config/set-field.js';
import { shapeAt } from '../../config/shape.js';
import { asConfigText, readWritten } from '../../fleet/config-text.js';
import type { ConfiguredNode } from '../../fleet/configured-node.js';
import { minorOf } from '../../fleet/effective-config.js';
import { type Session, selectNodes, withSession } from '../session.js';
import { terminalFor } from '../terminal/terminal.js';
import { type ChangeVerbOptions, changeTo } from './change-to.js';
import { type NewText, newText, readAll, startingPoint } from './new-text.js';

export interface SetOptions extends ChangeVerbOptions {
  selector?: string;
  all?: boolean;
}

export const set = (words: string[], options: SetOptions): Promise<void> =>
  withSession(
    options,
    async (session) => {
      const settings = words.filter(looksLikeSetting);
      const names = words.filter((word) => !looksLikeSetting(word));
      if (settings.length === 0)
        throw new CannotRun(
          `nothing to set: ${guess(names) ?? "write FIELD=VALUE, as in 'relet set node-1 maxPods=150'"}`,
        );
      const nodes = await selectNodes(session, { names, selector: options.selector, all: options.all });
      const texts = await readAll(session, nodes, (node) => withSettings(session, node, settings));
      await changeTo(session, 'set', texts, options);
    },
    terminalFor(options),
  );

/** `relet set node-1 maxPods 100`: the field and the value are two words. */
function guess(words: string[]): string | undefined {
  const at = words.findIndex((word) => fieldAt(word) !== undefined);
  const [field, value] = [words[at], words[at + 1]];
  return at < 1 || value === undefined ? undefined : `did you mean ${field}=${value}?`;
}

async function withSettings(session: Session, node: ConfiguredNode, settings: string[]): Promise<NewText> {
  const minor = minorOf(node);
  const start = await startingPoint(session, node, 'set');
  try {
    const document = readWritten(start.text, minor);
    const changed = settings
      .map((word) => parseSetting(word, minor))
      .reduce((before, setting) => withSetting(withWholeMap(before, setting.path, minor), setting), document);
    return newText(node, start, asConfigText(changed, minor));
  } catch (error) {
    if (error instanceof FieldWordError) throw new CannotRun(error.message);
    if (error instanceof DecodeError)
      throw new CannotRun(
        `${node.name} is assigned a config that cannot be read (${error.message}); correct it with 'relet edit ${node.name}'`,
      );
    throw error;
  }
}

/** A map that the document leaves to its default is written out before one of its keys is set: the kubelet does not merge. */
function withWholeMap(document: KubeletConfig, path: string[], minor: number): KubeletConfig {
  const map = path.slice(0, -1);
  if (shapeAt(map, minor)?.kind !== 'map' || getField(document, map.join('.')) !== undefined) return document;
  const { config } = decode(asConfigText(document, minor), { minor, strict: false });
  const value = getField(setDefaults(config, minor), map.join('.')) ?? undefined;
  return value === undefined ? document : withSetting(document, { path: map, value });
}
