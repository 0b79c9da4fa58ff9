/**
 * The addresses of a system on one machine. Each hollow node has a loopback address of its own, as if it were a machine, so
 * that all kubelets use the usual ports and one config fits all of them. Which addresses: by the name of the directory, so
 * that systems in different directories do not meet.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { CannotRun } from '../../cannot-run.js';

export interface Network {
  /** Port of the API server on 127.0.0.1. */
  apiPort: number;
  /** The address of node-1; node-2 has the next one. */
  firstAddress: string;
  kubeletPort: number;
  healthzPort: number;
  /** Port on which the relet in front of each kubelet serves its metrics. */
  metricsPort: number;
}

/** The most nodes of one system. */
export const mostNodes = 500;
const usualApiPort = 6443;
const usualPorts = { kubeletPort: 10250, healthzPort: 10248, metricsPort: 10269 };
const portStep = 1000;

export function nodeAddress({ firstAddress }: Pick<Network, 'firstAddress'>, index: number): string {
  const number = firstAddress.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) + index;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** In 127.1.0.0 to 127.254.255.255, in blocks of 512. */
export function firstAddressFor(dir: string, attempt = 0): string {
  const hash = createHash('sha256').update(`${dir}\n${attempt}`).digest();
  return `127.${1 + (hash[0]! % 254)}.${hash[1]! & 0xfe}.1`;
}

export interface NetworkQuestion {
  dir: string;
  nodes: number;
  /** A real kubelet listens on all addresses of the machine. */
  isReal?: boolean;
  /** From --port; undefined: the usual one, or another when that is taken. 0: any. */
  askedPort: number | undefined;
  remembered: Network | undefined;
  isFree?: typeof isFree;
}

/** Throws CannotRun when a port that must be used is taken. */
export async function decideNetwork(question: NetworkQuestion): Promise<Network> {
  const { askedPort, remembered, isFree: free = isFree } = question;
  const apiPort = await decideApiPort(askedPort, remembered, free);
  if (remembered === undefined) return { apiPort, ...(await chooseNodePorts(question, free)) };
  const taken = await firstTaken(remembered, question, free);
  if (taken !== undefined)
    throw new CannotRun(
      `${taken}, where a node of this system listens, is taken by another program: stop that, or start over with 'relet up --fresh'`,
    );
  return { ...remembered, apiPort };
}

/** Another program took the port of the API server between our choice and the server's start. */
export class ApiPortTaken extends CannotRun {}

/** Runs, and once more on another port when the first one was taken meanwhile and nobody had asked for it. */
export async function runOnFreePort<T>(question: NetworkQuestion, run: (network: Network) => Promise<T>): Promise<T> {
  const network = await decideNetwork(question);
  try {
    return await run(network);
  } catch (error) {
    const isAsked = (question.askedPort ?? 0) !== 0 || question.remembered !== undefined;
    if (isAsked || !(error instanceof ApiPortTaken)) throw error;
    return run({ ...network, apiPort: await anyFreePort() });
  }
}

async function decideApiPort(asked: number | undefined, remembered: Network | undefined, free: typeof isFree) {
  const wanted = asked ?? remembered?.apiPort ?? usualApiPort;
  if (wanted === 0) return anyFreePort();
  if (await free('127.0.0.1', wanted)) return wanted;
  if (asked === undefined && remembered === undefined) return anyFreePort();
  throw new CannotRun(`port ${wanted} is taken by another program: stop that, or give another with --port (0: any)`);
}

async function chooseNodePorts(question: NetworkQuestion, free: typeof isFree): Promise<Omit<Network, 'apiPort'>> {
  // Other addresses first: a system in another directory may have the same ones.
  for (const attempt of [0, 1]) {
    const network = { firstAddress: firstAddressFor(question.dir, attempt), ...usualPorts };
    if ((await firstTaken(network, question, free)) === undefined) return network;
  }
  // Each port moves on its own: a config that says 10269 finds that port taken on every machine, as README.md shows.
  const firstAddress = firstAddressFor(question.dir);
  const addresses = addressesOf({ firstAddress }, question);
  const ports = {
    kubeletPort: await nearestFree(addresses, usualPorts.kubeletPort, free),
    healthzPort: await nearestFree(addresses, usualPorts.healthzPort, free),
    metricsPort: await nearestFree(addresses, usualPorts.metricsPort, free),
  };
  return { firstAddress, ...ports };
}

async function nearestFree(addresses: string[], usual: number, free: typeof isFree): Promise<number> {
  for (let port = usual; port < usual + 10 * portStep; port += portStep)
    if ((await takenOf(addresses, port, free)) === undefined) return port;
  throw new CannotRun('found no free addresses for the nodes: is 127.0.0.0/8 usable on this machine?');
}

const addressesOf = (network: Pick<Network, 'firstAddress'>, { nodes, isReal = false }: NetworkQuestion): string[] =>
  isReal ? ['0.0.0.0'] : Array.from({ length: nodes }, (_, index) => nodeAddress(network, index));

async function takenOf(addresses: string[], port: number, free: typeof isFree): Promise<string | undefined> {
  for (const address of addresses) if (!(await free(address, port))) return `${address}:${port}`;
  return undefined;
}

async function firstTaken(
  network: Omit<Network, 'apiPort'>,
  question: NetworkQuestion,
  free: typeof isFree,
): Promise<string | undefined> {
  const addresses = addressesOf(network, question);
  for (const port of [network.kubeletPort, network.healthzPort, network.metricsPort]) {
    const taken = await takenOf(addresses, port, free);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

export function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function anyFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
}
