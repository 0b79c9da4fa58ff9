/** What a node reports in annotations of its Node, since Node.status has no field for it. A NodeConfig has it in its status. */
import type { NodeConfigStatus } from './config-ref.js';
import type { HeldState } from './node-config.js';

/** When the trial under way will be over if all stays well; absent when there is none. */
export const trialEndsAnnotation = 'relet.dev/trial-ends';
/** Until when the restart with the newest config is delayed because configs keep changing; absent when it is not. */
export const restartDelayedAnnotation = 'relet.dev/restart-delayed-until';
/** relet's version on the node. */
export const agentVersionAnnotation = 'relet.dev/agent-version';
/** The cause of status.config.error; absent when there is no error. */
export const causeAnnotation = 'relet.dev/cause';
/** Present while the node is held: it follows no new assignment. */
export const heldAnnotation = 'relet.dev/held';
/** Fields that flags of its kubelet set, separated by commas; absent when there are none. */
export const pinnedByFlagsAnnotation = 'relet.dev/pinned-by-flags';

/** With the error and the config it belongs to: others write status.config too, such as an older relet, and leave this. */
export function causeText(status: NodeConfigStatus, cause: string): string {
  return JSON.stringify({ ...about(status), cause });
}

/** Undefined where it is about another error or another config than the status. */
export function readCause(text: string | undefined, status: NodeConfigStatus): string | undefined {
  const { error, config, cause } = parse(text);
  const present = about(status);
  const isAbout = status.error !== undefined && error === present.error && config === present.config;
  return isAbout && typeof cause === 'string' ? cause : undefined;
}

export function readHeld(text: string | undefined): HeldState | undefined {
  if (text === undefined) return undefined;
  const held = parse(text);
  const field = (name: keyof HeldState) => (typeof held[name] === 'string' ? { [name]: held[name] } : {});
  return { ...field('since'), ...field('why'), ...field('who') };
}

function about({ error, assigned }: NodeConfigStatus) {
  const { uid, resourceVersion } = assigned?.configMap ?? {};
  return { error, config: uid === undefined ? 'local' : `${uid}/${resourceVersion}` };
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}
