/** Limits of the host, for the case that no agent decides before. */

/** Times the agent's own deadline. */
export const hostPatience = 1.5;
/** A run of this length shows that the config starts. */
export const longRunSeconds = 60;
