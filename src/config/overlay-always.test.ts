/** Properties of every overlay, every local config and every kubelet version. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyMinor, configOf } from '../../test/any-config.js';
import { asYaml } from '../go/yaml/write.js';
import { decode } from './decode.js';
import { diff } from './diff.js';
import { formatPath, leavesOf } from './field-path.js';
import type { Field } from './fields.js';
import { header } from './header.js';
import { type LocalFile, mergeLocal, mergeOverlay } from './merge.js';
import type { KubeletConfig, Minor, Overlay } from './model.js';
import { decodeOverlay, encodeOverlay, overlayFrom } from './overlay.js';
import { shapeOf } from './shape.js';

const fileOf = (config: KubeletConfig): LocalFile[] => [
  { path: '/etc/kubernetes/kubelet.yaml', text: asYaml({ ...header, ...config }) },
];

const merge = (minor: Minor, local: readonly LocalFile[], overlay: Overlay) =>
  mergeOverlay({ minor, local, overlay: encodeOverlay(overlay) });

/** Sets some fields and unsets others. */
const overlayOf = (minor: Minor, isWanted?: (field: Field) => boolean): fc.Arbitrary<Overlay> =>
  fc.tuple(configOf(minor, isWanted), configOf(minor, isWanted)).map(([config, other]) => {
    const set = leavesOf(config, shapeOf(minor)).map(([name]) => name);
    const unset = leavesOf(other, shapeOf(minor)).filter(([name]) => !set.includes(name));
    return { config, unset: [...new Set(unset.map((path) => formatPath(path, minor)))] };
  });

const minorAnd = <T>(arbitrary: (minor: Minor) => fc.Arbitrary<T>): fc.Arbitrary<[Minor, KubeletConfig, T]> =>
  anyMinor.chain((minor) => fc.tuple(fc.constant(minor), configOf(minor), arbitrary(minor)));

const meaningOf = (minor: Minor, config: KubeletConfig): KubeletConfig =>
  decode(asYaml({ ...header, ...config }), { minor }).config;

const shuffled = (config: KubeletConfig): KubeletConfig => Object.fromEntries(Object.entries(config).reverse());

describe('always', () => {
  test('an empty overlay changes nothing', () => {
    fc.assert(
      fc.property(
        minorAnd(() => fc.constant<Overlay>({ config: {}, unset: [] })),
        ([minor, config, overlay]) => {
          const { document } = merge(minor, fileOf(config), overlay);
          expect(diff(meaningOf(minor, document), meaningOf(minor, config), minor)).toEqual([]);
        },
      ),
    );
  });

  test('the text of a merged config does not depend on the order of keys, and merging again does not change it', () => {
    fc.assert(
      fc.property(minorAnd(overlayOf), ([minor, config, overlay]) => {
        const { text } = merge(minor, fileOf(config), overlay);
        const other = { config: shuffled(overlay.config), unset: [...overlay.unset].reverse() };
        expect(merge(minor, fileOf(shuffled(config)), other).text).toBe(text);
        expect(merge(minor, [{ path: '/x', text }], { config: {}, unset: [] }).text).toBe(text);
      }),
    );
  });

  test('an overlay reads as it was written', () => {
    fc.assert(
      fc.property(minorAnd(overlayOf), ([minor, , overlay]) => {
        const decoded = decodeOverlay(encodeOverlay(overlay), { minor }).overlay;
        const text = encodeOverlay(decoded);
        expect(decodeOverlay(text, { minor }).overlay.config).toEqual(decoded.config);
        expect(encodeOverlay({ config: shuffled(decoded.config), unset: [...decoded.unset].reverse() })).toBe(text);
      }),
    );
  });

  test('overlays of different fields give the same in either order', () => {
    // One decides whether the other is completed with the default thresholds.
    const group = ({ path }: Field) =>
      path.replace(/\..*$/, '').replace('mergeDefaultEvictionSettings', 'evictionHard');
    const isLeft = (field: Field) => group(field).length % 2 === 0;
    const two = (minor: Minor) =>
      fc.tuple(
        overlayOf(minor, isLeft),
        overlayOf(minor, (field) => !isLeft(field)),
      );
    fc.assert(
      fc.property(minorAnd(two), ([minor, config, [a, b]]) => {
        const inOrder = (first: Overlay, second: Overlay) =>
          merge(minor, [{ path: '/x', text: merge(minor, fileOf(config), first).text }], second).text;
        expect(inOrder(a, b)).toBe(inOrder(b, a));
      }),
    );
  });

  test('an overlay made from a whole config gives that config', () => {
    const notDerived = ({ path }: Field) => !['providerID', 'reservedSystemCPUs'].includes(path);
    fc.assert(
      fc.property(
        minorAnd((minor) => configOf(minor, notDerived)),
        ([minor, config, running]) => {
          const local = fileOf(config);
          const { document } = merge(minor, local, overlayFrom({ running, local, minor }));
          const wanted = { ...running, ...(config.providerID !== undefined && { providerID: document.providerID }) };
          expect(diff(meaningOf(minor, document), meaningOf(minor, wanted), minor)).toEqual([]);
        },
      ),
    );
  });

  test('an overlay made from the local config is empty', () => {
    fc.assert(
      fc.property(
        minorAnd(() => fc.constant(undefined)),
        ([minor, config]) => {
          const local = fileOf(config);
          expect(overlayFrom({ running: mergeLocal({ minor, local }).config, local, minor })).toEqual({
            config: {},
            unset: [],
          });
        },
      ),
    );
  });
});
