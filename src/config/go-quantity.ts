/** Kubernetes quantities (`100Mi`, `1.5`, `12e6`): read as the API machinery does, exact, in billionths. */

export interface Quantity {
  /** The value times 10^9, rounded away from zero. */
  nanos: bigint;
  format: 'decimal' | 'exponent' | 'binary';
}

const decimalSuffixes: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const giga = 1_000_000_000n;
const maxInt64 = 2n ** 63n - 1n;
/** Far beyond anything a machine has; bounds the arithmetic on `1e999999999`. */
const maxExponent = 400;

export const quantityErrors = {
  format: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  suffix: "unable to parse quantity's suffix",
} as const;

/** A quantity, or the text of the error. */
export function parseQuantity(text: string): Quantity | string {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text);
  if (match === null || text === '') return quantityErrors.format;
  const [, sign, whole, fraction = '', suffix] = match;
  const scaled = scaleOf(suffix!);
  if (scaled === undefined) return quantityErrors.suffix;
  const unscaled = BigInt(`${whole}${fraction}` || '0') * (scaled.binary ? 2n ** BigInt(scaled.exponent) : 1n);
  const exponent = 9 - fraction.length + (scaled.binary ? 0 : scaled.exponent);
  let nanos = exponent >= 0 ? unscaled * 10n ** BigInt(exponent) : ceilDivide(unscaled, 10n ** BigInt(-exponent));
  let format: Quantity['format'] = scaled.binary ? 'binary' : scaled.format;
  if (format === 'binary' && nanos > maxInt64 * giga) nanos = maxInt64 * giga;
  if (format === 'binary' && nanos > 0n && nanos < giga) format = 'decimal';
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

function scaleOf(suffix: string): { exponent: number; binary: boolean; format: 'decimal' | 'exponent' } | undefined {
  if (Object.hasOwn(decimalSuffixes, suffix))
    return { exponent: decimalSuffixes[suffix]!, binary: false, format: 'decimal' };
  const power = binarySuffixes.indexOf(suffix);
  if (power > 0) return { exponent: power * 10, binary: true, format: 'decimal' };
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined;
  const exponent = Math.max(-maxExponent, Math.min(maxExponent, Number(suffix.slice(1))));
  return { exponent, binary: false, format: 'exponent' };
}

function ceilDivide(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

/**
 * Whether the kubelet can read the text as a whole number of 64 bits. Not a question of value: `1.5Gi` and `1Pi` go through its
 * slow path, which never gives one, and neither does any fraction.
 */
export function isWholeNumber(text: string): boolean {
  const match = /^[+-]?0*(\d*)(\.\d*)?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text);
  const scaled = match === null || text === '' ? undefined : scaleOf(match[3]!);
  if (scaled === undefined) return false;
  const digits = match![1] || '0';
  const decimals = Math.max((match![2] ?? '').length - 1, 0);
  if (scaled.binary) return match![2] === undefined && 14 - digits.length - Math.trunc((scaled.exponent * 3) / 10) >= 0;
  const scale = scaled.exponent - decimals;
  return scale >= 0 && digits.length + decimals <= 18 && BigInt(digits + '0'.repeat(scale)) <= maxInt64;
}

/** The canonical text, as the kubelet prints it: `1536Mi` for `1.5Gi`, `100m` for `0.1`. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const size = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? '-' : '';
  if (format === 'binary' && size >= 1024n * giga && size % giga === 0n) {
    let number = size / giga;
    let power = 0;
    for (; number % 1024n === 0n && power < binarySuffixes.length - 1; power++) number /= 1024n;
    return `${sign}${number}${binarySuffixes[power]}`;
  }
  let number = size;
  let exponent = -9;
  for (; number % 1000n === 0n && (exponent < 18 || format === 'exponent'); exponent += 3) number /= 1000n;
  const suffix =
    format === 'exponent'
      ? exponent === 0
        ? ''
        : `e${exponent}`
      : Object.keys(decimalSuffixes).find((name) => decimalSuffixes[name] === exponent);
  return `${sign}${number}${suffix}`;
}
