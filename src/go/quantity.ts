/**
 * Resource quantities as Kubernetes reads and prints them: 2000m is 2, 1024Mi is 1Gi, 1.5Gi is 1536Mi.
 *
 * A value is held exactly, in billionths: nothing finer exists, and finer input is rounded away from zero.
 */

export interface Quantity {
  /** The value times 10^9. */
  nano: bigint;
  /** The family of suffixes that it was written with, and is printed with. */
  format: 'DecimalSI' | 'BinarySI' | 'DecimalExponent';
}

export const quantityRule =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const decimalSuffixes = new Map<string, number>([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const nanoPerOne = 10n ** 9n;
/** Binary quantities are capped at int64. */
const mostBinary = (2n ** 63n - 1n) * nanoPerOne;

/** Undefined for text that is not a quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  const parts = split(text);
  const scale = parts && scaleOf(parts.suffix);
  if (parts === undefined || scale === undefined) return undefined;
  const { sign, whole, fraction } = parts;
  const scaled = BigInt(whole + fraction || '0') * scale.times;
  const power = scale.ten - fraction.length + 9;
  let nano = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power));
  if (scale.format === 'BinarySI' && nano > mostBinary) nano = mostBinary;
  return { nano: sign === '-' ? -nano : nano, format: scale.format };
}

/** Returns the quantity, or the error of Kubernetes for an invalid text. */
export function readQuantity(text: string): Quantity | string {
  return quantityProblem(text) ?? parseQuantity(text)!;
}

/** Kubernetes' error about text that is not a quantity; undefined for one that is. */
export function quantityProblem(text: string): string | undefined {
  const parts = split(text);
  if (parts === undefined) return quantityRule;
  return scaleOf(parts.suffix) === undefined ? "unable to parse quantity's suffix" : undefined;
}

/** As Kubernetes shows a quantity that it read: text that is short enough already stays as it was written. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = parseQuantity(text);
  if (quantity === undefined) return undefined;
  const { whole, fraction, suffix } = split(text)!;
  const digits = (whole.replace(/^0+/, '') || '0') + fraction;
  if (quantity.format === 'BinarySI') {
    const fits = fraction === '' && digits.length + 3 * binarySuffixes.indexOf(suffix) < 15;
    return fits && BigInt(digits) % 8n !== 0n ? text : formatQuantity(quantity);
  }
  const power = scaleOf(suffix)!.ten - fraction.length;
  const isShort = digits.length <= 18 && power >= -9 && power % 3 === 0 && !digits.endsWith('000') && digits[0] !== '0';
  return isShort ? text : formatQuantity(quantity);
}

/** The one way Kubernetes prints this value. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  const isSmall = nano > -1024n * nanoPerOne && nano < 1024n * nanoPerOne;
  if (format === 'BinarySI' && !isSmall && nano % nanoPerOne === 0n) return binaryForm(nano / nanoPerOne);
  let mantissa = nano;
  let power = -9;
  while (mantissa % 1000n === 0n && (power < 18 || format === 'DecimalExponent')) {
    mantissa /= 1000n;
    power += 3;
  }
  if (power === 0) return `${mantissa}`;
  if (format === 'DecimalExponent') return `${mantissa}e${power}`;
  return `${mantissa}${[...decimalSuffixes].find(([, ten]) => ten === power)![0]}`;
}

function binaryForm(value: bigint): string {
  let power = 0;
  let rest = value;
  while (rest % 1024n === 0n && power < binarySuffixes.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

/**
 * Whether Kubernetes can take it for a whole number of 64 bits. Not a question of value: `1.5Gi` and `1Pi` are read on a slower
 * way, which never gives one, and neither does any fraction.
 */
export function isWholeNumber(text: string): boolean {
  const parts = split(text);
  const scale = parts && scaleOf(parts.suffix);
  if (parts === undefined || scale === undefined) return false;
  const digits = parts.whole.replace(/^0+/, '') || '0';
  if (scale.format === 'BinarySI')
    return !text.includes('.') && digits.length + 3 * binarySuffixes.indexOf(parts.suffix) <= 14;
  const power = scale.ten - parts.fraction.length;
  const isShort = power >= 0 && digits.length + parts.fraction.length <= 18;
  return isShort && BigInt(digits) * 10n ** BigInt(power) <= 2n ** 63n - 1n;
}

interface Parts {
  sign: string;
  whole: string;
  fraction: string;
  suffix: string;
}

/** Undefined if the text does not match the rule. A lone sign or point counts as 0, as in Go. */
function split(text: string): Parts | undefined {
  // Before the pattern, which takes time with the square of the length.
  if (text === '' || text.length > 200) return undefined;
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
  if (match === null) return undefined;
  return { sign: match[1]!, whole: match[2]!, fraction: match[3] ?? '', suffix: match[4]! };
}

/** Far beyond anything a machine has; bounds the arithmetic on `1e999999999`. */
const mostExponent = 999;

function scaleOf(suffix: string): { ten: number; times: bigint; format: Quantity['format'] } | undefined {
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix);
  if (exponent !== null) {
    const ten = Math.max(-mostExponent, Math.min(mostExponent, Number(exponent[1])));
    return { ten, times: 1n, format: 'DecimalExponent' };
  }
  const ten = decimalSuffixes.get(suffix);
  if (ten !== undefined) return { ten, times: 1n, format: 'DecimalSI' };
  const power = binarySuffixes.indexOf(suffix);
  return power > 0 ? { ten: 0, times: 1024n ** BigInt(power), format: 'BinarySI' } : undefined;
}

function divideUp(value: bigint, by: bigint): bigint {
  return value % by === 0n ? value / by : value / by + 1n;
}
