/** Parses floating-point numbers as Go's `strconv.ParseFloat(s, 32)` does; the kubelet reads percentages with it. */

const maxFloat32 = 3.4028235677973366e38;

/** Undefined for what Go refuses. It takes `Inf` and `NaN`. */
export function parseFloat32(text: string): number | undefined {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special !== null) {
    if (special[2]!.toLowerCase() === 'nan') return special[1] === '' ? Number.NaN : undefined;
    return special[1] === '-' ? -Infinity : Infinity;
  }
  const isDecimal = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  const value = isDecimal ? Number(text) : parseHexFloat(text);
  return value === undefined || Math.abs(value) >= maxFloat32 ? undefined : Math.fround(value);
}

/** `0x1.8p3`; the exponent is required. */
function parseHexFloat(text: string): number | undefined {
  const match = /^([+-]?)0x([\da-f]*)\.?([\da-f]*)p([+-]?\d+)$/i.exec(text);
  if (match === null || `${match[2]}${match[3]}` === '') return undefined;
  const mantissa = Number.parseInt(`${match[2]}${match[3]}`, 16) / 16 ** match[3]!.length;
  return (match[1] === '-' ? -1 : 1) * mantissa * 2 ** Number(match[4]);
}
