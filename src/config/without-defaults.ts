/**
 * Removes the values that the kubelet of a minor would default to anyway, so that the result picks up later defaults. It has the same
 * effect as the argument; unknown fields stay.
 */
import { isObject } from '../json.js';
import { decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { diff } from './diff.js';
import { encode } from './encode.js';
import { fieldOf, getField, type KubeletConfig, knownMinor, type Minor } from './model.js';
import { sameValue } from './same-value.js';
import { withSetting } from './set-field.js';
import { type StructShape, shapeOf } from './shape.js';

export function withoutDefaults(config: KubeletConfig, minor: Minor): KubeletConfig {
  const known = knownMinor(minor);
  const read = (document: KubeletConfig) => decode(encode(document), { minor: known, strict: false }).config;
  let small = unlike(config, setDefaults({}, known), shapeOf(known), '');
  // A default may depend on another field: what was lost is put back, until nothing is.
  for (;;) {
    const lost = diff(read(config), read(small), known).map(({ path }) => fieldOf(path));
    const back = lost.filter((path) => getField(small, path) === undefined && getField(config, path) !== undefined);
    if (back.length === 0) return small;
    for (const path of back) small = withSetting(small, { path: path.split('.'), value: getField(config, path) });
  }
}

/** The fields whose value is not that of `defaults`. Lists and maps are compared as a whole: the kubelet replaces them so. */
function unlike(config: KubeletConfig, defaults: KubeletConfig, shape: StructShape, parent: string): KubeletConfig {
  const kept: KubeletConfig = {};
  for (const [name, value] of Object.entries(config)) {
    const path = parent === '' ? name : `${parent}.${name}`;
    const child = shape.fields.get(name);
    const usual = defaults[name];
    if (child?.kind === 'struct' && isObject(value) && isObject(usual)) {
      const inner = unlike(value, usual, child, path);
      if (Object.keys(inner).length > 0) kept[name] = inner;
    } else if (child === undefined || !sameValue(value, usual, path)) kept[name] = value;
  }
  return kept;
}
