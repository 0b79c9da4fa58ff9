/** Durations as Go reads and prints them: "1h30m", "1.5s", "100ms". Nanoseconds, exact. */

/** Go's wording, `time: unknown unit "d" in duration "1d"`. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
}

const units = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
const most = 2n ** 63n - 1n;

/** Nanoseconds. Throws DurationError where Go's time.ParseDuration fails. */
export function parseDuration(text: string): bigint {
  const fail = (problem: string): never => {
    throw new DurationError(`time: ${problem} ${quote(text)}`);
  };
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  let rest = text.slice(sign.length);
  if (rest === '0') return 0n;
  if (rest === '') fail('invalid duration');
  let total = 0n;
  while (rest !== '') {
    const [, whole = '', dot = '', fraction = ''] = /^([0-9]*)(\.?)([0-9]*)/.exec(rest)!;
    if (whole === '' && fraction === '') fail('invalid duration');
    rest = rest.slice(whole.length + dot.length + fraction.length);
    const name = /^[^.0-9]*/.exec(rest)![0];
    if (name === '') fail('missing unit in duration');
    const unit = units.get(name) ?? fail(`unknown unit ${quote(name)} in duration`);
    rest = rest.slice(name.length);
    total += BigInt(whole || '0') * unit + fractionOf(fraction, unit);
    if (total > most + 1n) fail('invalid duration');
  }
  if (sign === '-') return -total;
  if (total > most) fail('invalid duration');
  return total;
}

/** Undefined if Go's time.ParseDuration fails. */
export function tryParseDuration(text: string): bigint | undefined {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

/** As Go's time package quotes: byte by byte, whatever is not printable ASCII. */
function quote(text: string): string {
  let quoted = '';
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    if (char === '"' || char === '\\') quoted += `\\${char}`;
    else quoted += byte < 0x20 || byte >= 0x80 ? `\\x${byte.toString(16).padStart(2, '0')}` : char;
  }
  return `"${quoted}"`;
}

/** Go works this out in float64, digit by digit as far as they fit an int64; what is below a nanosecond is dropped. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (next > most) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

/** Go's Duration.String: "1h0m0s", "1.5s", "100ms", "0s". */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** `value` divided by 10^places, without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = (value % scale).toString().padStart(places, '0').replace(/0+$/, '');
  return fraction === '' ? `${value / scale}` : `${value / scale}.${fraction}`;
}
