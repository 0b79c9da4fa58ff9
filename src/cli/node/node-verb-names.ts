/** Names of the verbs of `relet node`, without their implementation: completion lists them without loading the agent. */

export const nodeVerbs = [
  ['status', 'Show what runs here, and why'],
  ['view', 'Print a config as the kubelet gets it'],
  ['use-local', "Use the local config until 'release'"],
  ['retry', 'Try configs again that failed their trial here'],
  ['hold', "Ignore new assignments until 'release'; the running config stays"],
  ['release', 'Follow assignments again'],
  ['accept-unsigned', 'Accept configs without a signature for a while (docs/signing.md)'],
] as const;

export type NodeVerb = (typeof nodeVerbs)[number][0];
