/**
 * Converts a set of the cluster to a draft, so that it can be edited in the same steps as a new one. Pure; loaded on demand, for its
 * YAML.
 */
import { type NodeConfigSetSpec, specDefaults, strategyDefaults } from '../../../api/node-config-set.js';
import { selectorText } from '../../../api/selector-object.js';
import { readPlain } from '../../../config/plain-document.js';
import { asYaml } from '../../../go/yaml/write.js';
import { type Draft, emptyDraft } from './draft.js';

/** Undefined for a set whose config is not an overlay: there is nothing to edit in these steps. */
export function draftOf(yaml: string): Draft | undefined {
  const { metadata, spec } = readPlain(yaml) as { metadata: { name: string }; spec: NodeConfigSetSpec };
  const { selector, config, accept, strategy = {}, updateNodes, expiresAfter, ...others } = spec;
  if (config.overlay === undefined) return undefined;
  const { waves, maxUnavailable, maxInTrial, maxFailed, onFailure, progressDeadline, drain, windows, ...rest } =
    strategy;
  const share = (value: number | string | undefined, fallback: string) =>
    value === undefined ? fallback : String(value);
  return {
    name: metadata.name,
    selector: selectorText(selector),
    allNodes: selectorText(selector) === '',
    overlay: Object.keys(config.overlay).length === 0 ? '' : asYaml(config.overlay),
    unset: (config.unset ?? []).join(', '),
    accept: accept ?? [],
    waves:
      waves?.map(({ nodes, soak = '', approve = false }) => ({
        nodes: String(nodes),
        soak: soak === '0s' ? '' : soak,
        approve,
      })) ?? emptyDraft.waves,
    maxUnavailable: share(maxUnavailable, emptyDraft.maxUnavailable),
    maxInTrial: share(maxInTrial, emptyDraft.maxInTrial),
    maxFailed: share(maxFailed, emptyDraft.maxFailed),
    onFailure: onFailure ?? emptyDraft.onFailure,
    progressDeadline: progressDeadline ?? emptyDraft.progressDeadline,
    drain: { ...emptyDraft.drain, ...drain },
    windows: windows?.map(({ days = [], from, to, timeZone = '' }) => ({ days, from, to, timeZone })) ?? [],
    updateNodes: updateNodes ?? emptyDraft.updateNodes,
    expiresAfter: expiresAfter ?? '',
    others: { spec: withoutDefaults(others, specDefaults), strategy: withoutDefaults(rest, strategyDefaults) },
  };
}

/** The API server writes defaults into an object; in a manifest they only take room. */
function withoutDefaults(fields: object, defaults: object): Record<string, unknown> {
  const known = defaults as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name])),
  );
}
