/** Parses IP addresses as Go does: netip.ParseAddr, or the parser of the kubelet that accepts leading zeros. Zones are rejected. */

export interface GoIp {
  bits: 32 | 128;
  value: bigint;
}

/** As the kubelet reads them (ParseIPSloppy): leading zeros in IPv4 are accepted. */
export function isGoIp(text: string): boolean {
  return parseGoIp(text, { leadingZeros: true }) !== undefined;
}

/** Without leading zeros this is netip.ParseAddr. */
export function parseGoIp(text: string, options: { leadingZeros: boolean }): GoIp | undefined {
  const isV6 = text.includes(':');
  const value = isV6 ? ipv6(text, options) : ipv4(text, options);
  return value === undefined ? undefined : { bits: isV6 ? 128 : 32, value };
}

function ipv4(text: string, { leadingZeros }: { leadingZeros: boolean }): bigint | undefined {
  const parts = text.split('.');
  const form = leadingZeros ? /^\d+$/ : /^(0|[1-9]\d*)$/;
  if (parts.length !== 4 || !parts.every((part) => form.test(part) && Number(part) <= 255)) return undefined;
  return join(8n, parts.map(Number));
}

function ipv6(text: string, options: { leadingZeros: boolean }): bigint | undefined {
  const halves = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const [front = [], back = []] = halves;
  const lastHalf = halves.at(-1)!;
  // The last two groups may be written as IPv4.
  if (lastHalf.at(-1)?.includes('.')) {
    const dotted = ipv4(lastHalf.pop()!, options);
    if (dotted === undefined) return undefined;
    lastHalf.push((dotted >> 16n).toString(16), (dotted & 0xffffn).toString(16));
  }
  const count = front.length + back.length;
  // `::` replaces at least one group.
  if (halves.length === 1 ? count !== 8 : halves.length > 2 || count > 7) return undefined;
  const groups = [...front, ...Array<string>(8 - count).fill('0'), ...back];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return join(
    16n,
    groups.map((group) => Number.parseInt(group, 16)),
  );
}

function join(bits: bigint, numbers: number[]): bigint {
  return numbers.reduce((sum, number) => (sum << bits) | BigInt(number), 0n);
}
