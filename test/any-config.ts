/** Configs that a kubelet of a minor decodes, for tests of what always holds. */
import fc from 'fast-check';
import { type Field, fieldsOf } from '../src/config/fields.js';
import { type KubeletConfig, type Minor, newestMinor, oldestMinor } from '../src/config/model.js';
import { withSetting } from '../src/config/set-field.js';

export const anyMinor = fc.integer({ min: oldestMinor, max: newestMinor });

const text = fc.string({ maxLength: 6 });
const quantity = fc.constantFrom('0', '1Gi', '1536Mi', '100m', '5');
const resources = fc.constantFrom('cpu', 'memory', 'pid');
const signals = fc.constantFrom('memory.available', 'nodefs.available', 'imagefs.inodesFree', 'pid.available');

const keyed: Record<string, fc.Arbitrary<unknown>> = {
  evictionHard: fc.dictionary(signals, fc.constantFrom('5%', '1Gi', '200Mi'), { maxKeys: 3 }),
  kubeReserved: fc.dictionary(resources, quantity, { maxKeys: 2 }),
  systemReserved: fc.dictionary(resources, quantity, { maxKeys: 2 }),
  registerWithTaints: fc.array(
    fc.record(
      { key: text, value: text, effect: fc.constantFrom('NoSchedule', 'NoExecute') },
      { requiredKeys: ['key'] },
    ),
    { maxLength: 2 },
  ),
  reservedMemory: fc.array(
    fc.record(
      { numaNode: fc.nat(3), limits: fc.dictionary(resources, quantity, { maxKeys: 2 }) },
      { requiredKeys: [] },
    ),
    { maxLength: 2 },
  ),
};

/** Undefined for fields that are set through the fields inside them. */
function anyValueOf({ path, goType, isHostPath }: Field): fc.Arbitrary<unknown> | undefined {
  if (Object.hasOwn(keyed, path)) return keyed[path];
  if (isHostPath) return fc.constantFrom('', '/a', '/b/c');
  if (path.includes('[]') || path.startsWith('logging.')) return undefined;
  switch (goType) {
    case 'bool':
      return fc.boolean();
    case 'Duration':
      return fc.constantFrom('0s', '10s', '1m0s', '1h30m0s', '-5s');
    case 'float64':
      return fc.double({ min: 0, max: 1, noNaN: true });
    case 'int32':
      return fc.integer({ min: 0, max: 20_000 });
    case 'int64':
      return fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 54n, max: 2n ** 62n }));
    case 'string':
      return text;
    case '[]string':
      return fc.array(text, { maxLength: 3 });
    case 'map[string]string':
      return fc.dictionary(text, text, { maxKeys: 3 });
    case 'map[string]bool':
      return fc.dictionary(fc.constantFrom('AllAlpha', 'AllBeta'), fc.boolean());
    default:
      return undefined;
  }
}

/** Sets some fields; `isWanted` chooses among those of the minor. */
export function configOf(minor: Minor, isWanted = (_field: Field): boolean => true): fc.Arbitrary<KubeletConfig> {
  const usable = fieldsOf(minor).filter((field) => anyValueOf(field) !== undefined && isWanted(field));
  return fc
    .subarray(usable, { maxLength: 8 })
    .chain((chosen) => fc.tuple(...chosen.map((field) => anyValueOf(field)!.map((value) => ({ field, value })))))
    .map((settings) =>
      settings.reduce<KubeletConfig>(
        (config, { field, value }) => withSetting(config, { path: field.path.split('.'), value }),
        {},
      ),
    );
}
