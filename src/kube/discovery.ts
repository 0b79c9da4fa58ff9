/** Discovery: the version of the server, and whether it serves a resource. */
import { isNotFound } from './api-error.js';
import type { CallOptions, KubeClient } from './client.js';
import { parse } from './pages.js';
import type { ResourceType } from './resource-type.js';

export interface ServerVersion {
  major: string;
  minor: string;
  gitVersion: string;
  [field: string]: string;
}

export async function serverVersion(client: KubeClient, options: CallOptions = {}): Promise<ServerVersion> {
  const request = { method: 'GET', path: '/version' };
  return parse<ServerVersion>(await client.raw({ ...request, ...options }), request);
}

/** Whether the server serves this resource. Throws without a response: unknown is not false. */
export async function serves(client: KubeClient, type: ResourceType, options: CallOptions = {}): Promise<boolean> {
  const path = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  try {
    const request = { method: 'GET', path };
    const list = parse<{ resources?: { name: string }[] } | null>(
      await client.raw({ ...request, ...options }),
      request,
    );
    return (list?.resources ?? []).some(({ name }) => name === type.resource);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
