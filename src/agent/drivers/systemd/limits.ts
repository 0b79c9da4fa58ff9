/** Limits that systemd and relet's script apply on the host, so that a trial also ends if the agent does not end it. */

/** Times the agent's own deadline. */
export const hostPatience = 1.5;
/** A run of this length shows that the config starts. */
export const longRunSeconds = 60;
