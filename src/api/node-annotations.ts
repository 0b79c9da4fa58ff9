/** What a node tells in annotations of its Node, since Node.status has no place for it. In a NodeConfig it stands in the status. */

/** When the trial under way will be over if all stays well; absent when there is none. */
export const trialEndsAnnotation = 'relet.dev/trial-ends';
/** Until when the restart with the newest config is delayed because configs keep changing; absent when it is not. */
export const restartDelayedAnnotation = 'relet.dev/restart-delayed-until';
/** relet's version on the node. */
export const agentVersionAnnotation = 'relet.dev/agent-version';
