/** What the server is and what it serves. */
import { isNotFound } from './api-error.js';
import type { CallOptions, KubeClient } from './client.js';
import type { ResourceType } from './resource-type.js';

export interface ServerVersion {
  major: string;
  minor: string;
  gitVersion: string;
  [field: string]: string;
}

export async function serverVersion(client: KubeClient, options: CallOptions = {}): Promise<ServerVersion> {
  const { text } = await client.raw({ method: 'GET', path: '/version', ...options });
  return JSON.parse(text) as ServerVersion;
}

/** Whether the server serves this resource. Throws when it gave no answer: that it is unknown is not a no. */
export async function serves(client: KubeClient, type: ResourceType, options: CallOptions = {}): Promise<boolean> {
  const path = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  try {
    const { text } = await client.raw({ method: 'GET', path, ...options });
    const { resources } = JSON.parse(text) as { resources?: { name: string }[] };
    return (resources ?? []).some(({ name }) => name === type.resource);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
