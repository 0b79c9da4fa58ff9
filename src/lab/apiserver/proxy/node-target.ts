/**
 * The address of a node's kubelet, and whether the server may connect to it. Only addresses that the Node itself
 * reports are used, resolved once, so that the checked address is the one that is dialled. Unlike kube-apiserver this
 * server connects to loopback addresses too, since server and kubelets often share a machine; there it connects to the
 * kubelet's own port only.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { badRequest, plainInternal } from '../../../memory-api/status-error.js';

export interface NodeTarget {
  scheme: 'https' | 'http';
  /** As the Node reports it: a name or an address. */
  host: string;
  /** The address to dial. */
  address: string;
  port: number;
  /** The kubelet itself, for which the server uses its client certificate; other ports get none. */
  isKubelet: boolean;
}

const defaultKubeletPort = 10250;
/** Addresses before names: names of nodes seldom resolve outside their own network. */
const preferredTypes = ['InternalIP', 'InternalDNS', 'Hostname', 'ExternalIP', 'ExternalDNS'];

/** `NAME`, `NAME:PORT`, `SCHEME:NAME:PORT` or `SCHEME:NAME:`. */
export function parseNodeId(id: string): { scheme: 'https' | 'http'; name: string; port: string } {
  const parts = id.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0], parts[1] ?? ''];
  const valid = parts.length <= 3 && name && /^(https?)?$/.test(scheme!) && /^\d{0,5}$/.test(port!);
  if (!valid) throw badRequest(`invalid node request ${quote(id)}`);
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: port! };
}

interface NodeStatus {
  addresses?: { type: string; address: string }[];
  daemonEndpoints?: { kubeletEndpoint?: { Port?: number } };
}

export interface TargetOptions {
  /** The server's own port: on a shared machine a node could otherwise make the server call itself. */
  ownPort(): number | undefined;
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

export async function findTarget(node: KubeObject, id: string, options: TargetOptions): Promise<NodeTarget> {
  const { scheme, port: asked } = parseNodeId(id);
  const status = (node.status ?? {}) as NodeStatus;
  const host = preferredAddress(status);
  const reported = status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  const kubeletPort = reported > 0 ? reported : defaultKubeletPort;
  const port = asked === '' ? kubeletPort : Number(asked);
  const isKubelet = port === kubeletPort;
  const addresses = await resolve(host, options);
  const isAllowed = addresses.every(
    ({ address }) => !isForbidden(address) && (!isLoopback(address) || (isKubelet && port !== options.ownPort())),
  );
  if (!isAllowed) throw badRequest('address not allowed');
  return { scheme: isKubelet ? 'https' : scheme, host, address: addresses[0]!.address, port, isKubelet };
}

function preferredAddress({ addresses = [] }: NodeStatus): string {
  for (const type of preferredTypes) {
    const found = addresses.find((candidate) => candidate.type === type && candidate.address);
    if (found) return found.address;
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`);
  throw plainInternal(`no preferred addresses found; known addresses: [${known.join(' ')}]`);
}

async function resolve(host: string, { resolve: given }: TargetOptions): Promise<LookupAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  try {
    const found = await (given ?? ((name: string) => lookup(name, { all: true })))(host);
    if (found.length > 0) return found;
  } catch (error) {
    throw badRequest(`lookup ${host}: ${isNotFound(error) ? 'no such host' : (error as Error).message}`);
  }
  throw badRequest('no addresses for hostname');
}

const isNotFound = (error: unknown) => (error as { code?: string }).code === 'ENOTFOUND';

const forbidden = new BlockList();
forbidden.addAddress('0.0.0.0');
forbidden.addAddress('255.255.255.255');
forbidden.addSubnet('169.254.0.0', 16);
forbidden.addSubnet('224.0.0.0', 4);
forbidden.addAddress('::', 'ipv6');
forbidden.addSubnet('fe80::', 10, 'ipv6');
forbidden.addSubnet('ff00::', 8, 'ipv6');
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
const isForbidden = (address: string) => forbidden.check(address, familyOf(address));
const isLoopback = (address: string) => loopback.check(address, familyOf(address));
