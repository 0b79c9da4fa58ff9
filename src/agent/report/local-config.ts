/** Prepares the local config for the status, so that changes can be previewed and merged without a request to the kubelet. */
import { hiddenHeader, readLocalConfig } from '../../api/local-config.js';
import type { LocalConfig } from '../../api/node-config.js';
import { readPlain } from '../../config/plain-document.js';
import { isObject } from '../../json.js';
import type { HostFile } from '../documents.js';

/** Far more than any kubelet config; a larger one is not shown. */
const mostBytes = 32_768;

/** Undefined when a file cannot be read as YAML, or they are larger, deeper or longer than the API takes them. */
export function shownLocalConfig(files: readonly HostFile[]): LocalConfig | undefined {
  const bytes = files.reduce((sum, { data }) => sum + data.length, 0);
  if (bytes > mostBytes) return undefined;
  try {
    const shown = { files: files.map(({ data, ...file }) => ({ ...file, config: withoutSecrets(read(data)) })) };
    return readLocalConfig(shown).local;
  } catch {
    return undefined;
  }
}

function read(data: Uint8Array): Record<string, unknown> {
  const config = readPlain(Buffer.from(data).toString('utf8'));
  if (!isObject(config)) throw new Error('not an object');
  return config;
}

/** The only field that may hold a secret: HTTP headers, such as Authorization. */
function withoutSecrets(config: Record<string, unknown>): Record<string, unknown> {
  const { staticPodURLHeader: headers, ...others } = config;
  if (!isObject(headers)) return others;
  return {
    ...others,
    staticPodURLHeader: Object.fromEntries(Object.keys(headers).map((name) => [name, [hiddenHeader]])),
  };
}
