/** ip() and cidr(): addresses and networks, as Go's netip reads them. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { parseGoIp } from '../../../../go/ip.js';
import type { Comparable } from '../equality.js';

const ipType = 'net.IP';
const cidrType = 'net.CIDR';

/** The name `ip` is also a namespace: ip.isCanonical(). */
class IpNamespace {}

class IpValue implements Comparable {
  constructor(
    readonly bits: 32 | 128,
    readonly value: bigint,
  ) {}

  isSame(other: unknown): boolean {
    return other instanceof IpValue && other.bits === this.bits && other.value === this.value;
  }

  /** Whether it belongs to this network. */
  isIn(network: string): boolean {
    return parseCidr(network)!.containsIp(this);
  }

  toString(): string {
    if (this.bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (this.value >> shift) & 255n).join('.');
    const groups = Array.from({ length: 8 }, (_, at) => ((this.value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
    // The first of the longest runs of zeros, if there are two or more, is left out.
    const runs = [...groups.join(':').matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort((a, b) => b[0].length - a[0].length);
    const text = groups.join(':');
    if (runs[0] === undefined) return text;
    return `${text.slice(0, runs[0].index)}::${text.slice(runs[0].index + runs[0][0].length).replace(/^:/, '')}`;
  }
}

class CidrValue implements Comparable {
  constructor(
    readonly ip: IpValue,
    readonly length: number,
  ) {}

  isSame(other: unknown): boolean {
    return other instanceof CidrValue && other.length === this.length && other.ip.isSame(this.ip);
  }

  get masked(): CidrValue {
    const host = BigInt(this.ip.bits - this.length);
    return new CidrValue(new IpValue(this.ip.bits, (this.ip.value >> host) << host), this.length);
  }

  containsIp(ip: IpValue): boolean {
    if (ip.bits !== this.ip.bits) return false;
    const host = BigInt(ip.bits - this.length);
    return ip.value >> host === this.ip.value >> host;
  }

  containsCidr(other: CidrValue): boolean {
    return other.length >= this.length && this.containsIp(other.ip);
  }

  toString(): string {
    return `${this.ip}/${this.length}`;
  }
}

function parseIp(text: string): IpValue | undefined {
  const ip = parseGoIp(text, { leadingZeros: false });
  // IPv4 written as IPv6 would be two addresses in one.
  if (ip === undefined || (ip.bits === 128 && ip.value >> 32n === 0xffffn)) return undefined;
  return new IpValue(ip.bits, ip.value);
}

function parseCidr(text: string): CidrValue | undefined {
  const [, address = '', length = ''] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const ip = parseIp(address);
  return ip === undefined || Number(length) > ip.bits ? undefined : new CidrValue(ip, Number(length));
}

function ipOf(text: string): IpValue {
  const ip = parseIp(text);
  if (ip === undefined)
    throw new EvaluationError(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
  return ip;
}

function cidrOf(text: string): CidrValue {
  const cidr = parseCidr(text);
  if (cidr === undefined)
    throw new EvaluationError(`network address parse error during conversion from string: ${text}`);
  return cidr;
}

export function declareNetwork(environment: Environment): void {
  environment.registerType(ipType, IpValue).registerType(cidrType, CidrValue).registerType('net.ip', IpNamespace);
  declareIp(environment.registerConstant('ip', 'net.ip', new IpNamespace()));
  declareCidr(environment);
}

function declareIp(environment: Environment): void {
  const is = (name: string, networks: string[]) =>
    environment.registerFunction(`${ipType}.${name}(): bool`, (ip: IpValue) =>
      networks.some((network) => ip.isIn(network)),
    );
  environment
    .registerFunction('isIP(string): bool', (text: string) => parseIp(text) !== undefined)
    .registerFunction(`ip(string): ${ipType}`, ipOf)
    .registerFunction('net.ip.isCanonical(string): bool', (_ip: unknown, text: string) => String(ipOf(text)) === text)
    .registerFunction(`string(${ipType}): string`, String)
    .registerOperator(`${ipType} == ${ipType}`, (a: IpValue, b: IpValue) => a.isSame(b))
    .registerFunction(`${ipType}.family(): int`, (ip: IpValue) => (ip.bits === 32 ? 4n : 6n))
    .registerFunction(
      `${ipType}.isGlobalUnicast(): bool`,
      (ip: IpValue) => !notGlobal.some((network) => ip.isIn(network)),
    );
  is('isUnspecified', ['0.0.0.0/32', '::/128']);
  is('isLoopback', ['127.0.0.0/8', '::1/128']);
  is('isLinkLocalMulticast', ['224.0.0.0/24', 'ff02::/16']);
  is('isLinkLocalUnicast', ['169.254.0.0/16', 'fe80::/10']);
}

const notGlobal = [
  '0.0.0.0/32',
  '::/128',
  '127.0.0.0/8',
  '::1/128',
  '224.0.0.0/4',
  'ff00::/8',
  '169.254.0.0/16',
  'fe80::/10',
  '255.255.255.255/32',
];

function declareCidr(environment: Environment): void {
  environment
    .registerFunction('isCIDR(string): bool', (text: string) => parseCidr(text) !== undefined)
    .registerFunction(`cidr(string): ${cidrType}`, cidrOf)
    .registerFunction(`string(${cidrType}): string`, String)
    .registerOperator(`${cidrType} == ${cidrType}`, (a: CidrValue, b: CidrValue) => a.isSame(b))
    .registerFunction(`${cidrType}.containsIP(string): bool`, (net: CidrValue, text: string) =>
      net.containsIp(ipOf(text)),
    )
    .registerFunction(`${cidrType}.containsIP(${ipType}): bool`, (net: CidrValue, ip: IpValue) => net.containsIp(ip))
    .registerFunction(`${cidrType}.containsCIDR(string): bool`, (net: CidrValue, text: string) =>
      net.containsCidr(cidrOf(text)),
    )
    .registerFunction(`${cidrType}.containsCIDR(${cidrType}): bool`, (net: CidrValue, other: CidrValue) =>
      net.containsCidr(other),
    )
    .registerFunction(`${cidrType}.ip(): ${ipType}`, (net: CidrValue) => net.ip)
    .registerFunction(`${cidrType}.masked(): ${cidrType}`, (net: CidrValue) => net.masked)
    .registerFunction(`${cidrType}.prefixLength(): int`, (net: CidrValue) => BigInt(net.length));
}
