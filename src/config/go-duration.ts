/** Durations as Go reads and writes them: `1h30m`, `1.5s`, `-5s`. In nanoseconds, as bigint. */

const units: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const maxNs = 2n ** 63n - 1n;

/** Undefined for what `time.ParseDuration` refuses. */
export function parseDuration(text: string): bigint | undefined {
  const signed = /^([+-]?)(.*)$/s.exec(text)!;
  const rest = signed[2]!;
  if (rest === '0') return 0n;
  if (rest === '') return undefined;
  let total = 0n;
  let end = 0;
  for (const part of rest.matchAll(/(\d*)(?:\.(\d*))?([^\d.]+)/gy)) {
    const [whole, digits, fraction, unitName] = part;
    const unit = Object.hasOwn(units, unitName!) ? units[unitName!]! : undefined;
    if (unit === undefined || (digits === '' && !fraction)) return undefined;
    total += BigInt(digits || '0') * unit;
    // Go keeps 18 or so digits and multiplies as floats; the rest is below a nanosecond anyway.
    const kept = (fraction ?? '').slice(0, 18);
    if (kept !== '') total += BigInt(Math.trunc(Number(kept) * (Number(unit) / 10 ** kept.length)));
    end += whole.length;
  }
  if (end !== rest.length || total > maxNs) return undefined;
  return signed[1] === '-' ? -total : total;
}

/** Go's text: `1h30m0s`, `1.5s`, `250ms`, `0s`. */
export function formatDuration(ns: bigint): string {
  if (ns === 0n) return '0s';
  if (ns < 0n) return `-${formatDuration(-ns)}`;
  for (const [name, unit] of [
    ['ns', 1n],
    ['µs', 1_000n],
    ['ms', 1_000_000n],
  ] as const)
    if (ns < unit * 1_000n) return decimal(ns, unit) + name;
  const seconds = ns / 1_000_000_000n;
  const hours = seconds / 3600n;
  const minutes = (seconds / 60n) % 60n;
  const tail = `${decimal(ns % 60_000_000_000n, 1_000_000_000n)}s`;
  if (hours > 0n) return `${hours}h${minutes}m${tail}`;
  return minutes > 0n ? `${minutes}m${tail}` : tail;
}

function decimal(value: bigint, unit: bigint): string {
  const width = String(unit).length - 1;
  const fraction =
    width === 0
      ? ''
      : String(value % unit)
          .padStart(width, '0')
          .replace(/0+$/, '');
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`;
}
