/**
 * The patch that assigns a config to a node: the reference and all annotations that go with it. Commands and sets use it, so that the
 * fields which an assignment writes or clears are listed once. Pure.
 */
import type { NodeConfigSource } from '../api/config-ref.js';
import {
  byAnnotation,
  type Claim,
  claimAnnotation,
  claimText,
  type Owed,
  owedAnnotation,
} from '../api/node-annotations.js';
import { detachAnnotation, type NodeConfig, unsetAnnotations } from '../api/node-config.js';
import { adoptAnnotation, setLabel } from '../api/node-config-set.js';
import { historyAnnotation, resultAnnotation } from './config-history.js';

export interface Assignment {
  source: NodeConfigSource | undefined;
  /** Undefined if the config stays the same: then the result of the newest change stays too, and its author. */
  history: string | undefined;
  /** The author, where the API server checks the name. */
  by?: string | undefined;
  owed: Owed | undefined;
  detach?: string | undefined;
  /** The claim of the set that assigns it. */
  claim?: Claim;
}

/** Null in a patch removes one. */
export type Annotations = Record<string, string | null>;

function annotationsOf({ history, by, owed, detach, claim }: Assignment): Annotations {
  return {
    ...(history !== undefined && {
      [historyAnnotation]: history,
      [resultAnnotation]: null,
      [byAnnotation]: by ?? null,
    }),
    ...(claim && { [claimAnnotation]: claimText(claim), [adoptAnnotation]: null }),
    [owedAnnotation]: owed === undefined ? null : JSON.stringify(owed),
    [detachAnnotation]: detach ?? null,
  };
}

/** Patch of a NodeConfig. Fails if somebody has written it since. */
export function nodeConfigPatch(resourceVersion: string | undefined, assignment: Assignment): object {
  const { source, claim } = assignment;
  return {
    metadata: {
      resourceVersion,
      ...(claim && { labels: { [setLabel]: claim.set } }),
      annotations: { ...annotationsOf(assignment), ...unsetAnnotations(null) },
    },
    // A merge keeps what it does not name: a pin is of one content, and goes with it.
    spec: { configSource: source === undefined ? null : { configMap: { sha256: null, ...source.configMap } } },
  };
}

/** NodeConfig of a node for which no controller has made one yet. */
export function newNodeConfig(name: string, assignment: Assignment): NodeConfig {
  const set = Object.entries(annotationsOf(assignment)).filter((entry): entry is [string, string] => entry[1] !== null);
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name, annotations: Object.fromEntries(set) },
    spec: assignment.source === undefined ? {} : { configSource: assignment.source },
  };
}

/** Patch of a Node, which keeps no author. */
export function nodePatch(resourceVersion: string, assignment: Assignment): object {
  const { [byAnnotation]: _, ...annotations } = annotationsOf(assignment);
  const { source } = assignment;
  // A merge keeps what it does not name, so the other dialect's field is named as null.
  const configSource = source === undefined ? null : { configMap: null, configMapRef: null, ...source };
  return { metadata: { resourceVersion, annotations }, spec: { configSource } };
}
