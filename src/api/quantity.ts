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

/** Undefined for text that is no quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([a-zA-Z]*)([-+]?[0-9]*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', letters = '', exponent = ''] = match;
  const scale = scaleOf(letters, exponent);
  if (scale === undefined || whole.length + fraction.length === 0 || text.length > 200) return undefined;
  const digits = BigInt(whole + fraction);
  const power = scale.ten - fraction.length + 9;
  const scaled = digits * scale.times;
  const nano = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power));
  return { nano: sign === '-' ? -nano : nano, format: scale.format };
}

/** The one way Kubernetes prints this value. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  const isSmall = nano > -1024n * nanoPerOne && nano < 1024n * nanoPerOne;
  if (format === 'BinarySI' && !isSmall && nano % nanoPerOne === 0n) return binaryForm(nano / nanoPerOne);
  let mantissa = nano;
  let power = -9;
  while (mantissa % 1000n === 0n && power < 18) {
    mantissa /= 1000n;
    power += 3;
  }
  if (power === 0) return `${mantissa}`;
  if (format === 'DecimalExponent') return `${mantissa}e${power}`;
  return `${mantissa}${[...decimalSuffixes].find(([, ten]) => ten === power)![0]}`;
}

/** Negative, zero or positive, as a sort wants it. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
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

function scaleOf(
  letters: string,
  exponent: string,
): { ten: number; times: bigint; format: Quantity['format'] } | undefined {
  if (exponent !== '') {
    if (!/^[eE]$/.test(letters) || !/^[-+]?[0-9]{1,2}$/.test(exponent)) return undefined;
    return { ten: Number(exponent), times: 1n, format: 'DecimalExponent' };
  }
  const ten = decimalSuffixes.get(letters);
  if (ten !== undefined) return { ten, times: 1n, format: 'DecimalSI' };
  const power = binarySuffixes.indexOf(letters);
  return power > 0 ? { ten: 0, times: 1024n ** BigInt(power), format: 'BinarySI' } : undefined;
}

function divideUp(value: bigint, by: bigint): bigint {
  return value % by === 0n ? value / by : value / by + 1n;
}
