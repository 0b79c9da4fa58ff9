/** Names for completion, from the cluster and the kubeconfig. On any failure there are no suggestions, and no error. */

import { readdirSync } from 'node:fs';
import { configLabel } from '../../api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../../api/node-config-set.js';
import { choicesOf, mapKeysOf } from '../../config/choices.js';
import { flagRows } from '../../config/facts/flag-rows.js';
import { type Field, fieldsOf } from '../../config/fields.js';
import { knownMinor, type Minor, newestMinor, oldestMinor, parseMinor } from '../../config/model.js';
import { readPlain } from '../../config/plain-document.js';
import { kubeconfigPaths, loadKubeconfig, systemFileReader } from '../../kube/kubeconfig.js';
import { configMaps, namespaces, nodes, type ResourceType, resourcePath } from '../../kube/resource-type.js';
import type { ConnectionOptions } from '../command-line.js';
import { listNames, withSession } from '../session.js';
import type { Names, Suggestion } from './complete-words.js';

/** A person waits with a finger on the key. */
const patienceMs = 2000;

/** The command line so far. */
export interface Typed {
  /** The word that is completed. */
  typed: string;
  options: Record<string, string>;
  /** The words before it that are not options. */
  words?: readonly string[];
}

export async function namesOf(kinds: readonly Names[], line: Typed): Promise<Suggestion[]> {
  const found: Suggestion[] = [];
  for (const kind of kinds)
    try {
      found.push(...(await namesOfKind(kind, line)));
    } catch {
      // No cluster, no permission, no time: no names.
    }
  return found;
}

async function namesOfKind(kind: Names, { typed, options, words = [] }: Typed): Promise<Suggestion[]> {
  switch (kind) {
    case 'fields':
      return fieldsOf(minorIn(options)).map(({ path, goType }) => ({ word: path, what: goType }));
    case 'versions':
      return Array.from({ length: newestMinor - oldestMinor + 1 }, (_, at) => ({ word: `1.${newestMinor - at}` }));
    case 'flags':
      return flagsFor(typed, minorIn(options));
    case 'settings':
      return settingsFor(typed, minorIn(options));
    case 'contexts': {
      const { paths } = kubeconfigPaths({ explicit: options.kubeconfig, env: process.env });
      return [...loadKubeconfig(paths, { readYaml: readPlain, files: systemFileReader }).contexts.keys()].map(
        (word) => ({ word }),
      );
    }
    case 'nodes':
      return namesInCluster(nodes, options);
    case 'namespaces':
      return namesInCluster(namespaces, options);
    case 'configmaps':
      return namesInCluster(configMaps, options, `${configLabel}=true`);
    case 'sets':
      return namesInCluster(nodeConfigSets, options);
    case 'waves':
      return wavesOf(words[0] ?? '', options);
    case 'files':
      return configFiles(typed);
  }
}

/** Minor of --kubelet-version, as far as it is typed. */
const minorIn = ({ kubeletVersion = '' }: Record<string, string>): Minor =>
  knownMinor(parseMinor(kubeletVersion) ?? newestMinor);

function namesInCluster(
  type: ResourceType,
  options: Record<string, string>,
  labelSelector?: string,
): Promise<Suggestion[]> {
  const connection: ConnectionOptions = { ...options, requestTimeout: patienceMs, verbose: 0 };
  return withSession(connection, async ({ client, namespace }) => {
    const path = resourcePath(type, type === configMaps ? { namespace } : {});
    return (await listNames(client, path, labelSelector)).map((word) => ({ word }));
  });
}

/** Waves of the set that is named before. */
function wavesOf(name: string, options: Record<string, string>): Promise<Suggestion[]> {
  const connection: ConnectionOptions = { ...options, requestTimeout: patienceMs, verbose: 0 };
  return withSession(connection, async ({ client }) => {
    const { status } = await client.get<NodeConfigSet>(nodeConfigSets, { name });
    return (status?.waves ?? []).map(({ wave, state }) => ({ word: String(wave), what: state }));
  });
}

/** Directories end in a slash. Hidden ones are offered once their dot is typed. */
export function configFiles(typed: string): Suggestion[] {
  const parent = typed.slice(0, typed.lastIndexOf('/') + 1);
  const showsHidden = typed.slice(parent.length).startsWith('.');
  return readdirSync(parent || '.', { withFileTypes: true })
    .filter(({ name }) => showsHidden || !name.startsWith('.'))
    .filter((entry) => entry.isDirectory() || /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => ({ word: `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}` }));
}

export function settingsFor(typed: string, minor: Minor): Suggestion[] {
  // An item of a list cannot be set by one word.
  const settable = fieldsOf(minor).filter(({ goType, path }) => goType !== '{}' && !path.includes('[]'));
  const equals = typed.indexOf('=');
  if (equals >= 0) {
    const name = typed.slice(0, equals);
    return settable.flatMap((field) => valuesOf(field, name, minor)).map((value) => ({ word: `${name}=${value}` }));
  }
  return settable.flatMap((field) => names(field, typed, minor));
}

/** Flags of the kubelet that set a field, for `--flag NAME=VALUE`. */
export function flagsFor(typed: string, minor: Minor): Suggestion[] {
  const known = flagRows.filter(([, , , first, last]) => first <= minor && minor <= last);
  const equals = typed.indexOf('=');
  if (equals < 0) return known.map(([name, , field]) => ({ word: `${name}=`, what: field }));
  const [name, type, field] = known.find(([flag]) => flag === typed.slice(0, equals)) ?? [];
  const values = type === 'bool' ? ['true', 'false'] : (choicesOf(field ?? '', minor) ?? []);
  return values.map((value) => ({ word: `${name}=${value}` }));
}

/** A map is offered whole and by key; its keys only once they are asked for, there may be a hundred. */
function names({ path, goType }: Field, typed: string, minor: Minor): Suggestion[] {
  const keys = mapKeysOf(path, minor);
  if (typed.startsWith(`${path}.`))
    return keys.map((key) => ({ word: `${path}.${key}=`, what: goType.replace(/^map\[\w+\]/, '') }));
  const whole = { word: `${path}=`, what: goType };
  return keys.length === 0 ? [whole] : [{ word: `${path}.`, what: 'one key of it' }, whole];
}

function valuesOf({ path, goType }: Field, name: string, minor: Minor): readonly string[] {
  const isKey = goType.startsWith('map[') && name.startsWith(`${path}.`);
  if (!isKey && name !== path) return [];
  if (goType === 'bool' || (isKey && goType.endsWith(']bool'))) return ['true', 'false'];
  return choicesOf(goType.startsWith('[]') ? `${path}[]` : path, minor) ?? [];
}
