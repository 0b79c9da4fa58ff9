/** IP addresses as the kubelet reads them: leading zeros in IPv4 are let through, zones are not. */

export function isGoIp(text: string): boolean {
  return text.includes(':') ? isIpv6(text) : isIpv4(text);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1);
  // The last two groups may be written as IPv4.
  const dotted = last?.includes('.') === true && !text.endsWith('::') ? groups.pop() : undefined;
  if (dotted !== undefined && !isIpv4(dotted)) return false;
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  const count = groups.length + (dotted === undefined ? 0 : 2);
  // `::` stands for at least one group.
  return halves.length === 2 ? count <= 7 : count === 8;
}
